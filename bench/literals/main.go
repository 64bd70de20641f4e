// Command literals prints the texts that the scan searches for, one a line, as other
// programs take them (`grep -F -f`). bench/scan.sh uses it; it is no part of gpumedic.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/scan"
)

func main() {
	asJSON := flag.Bool("json", false, "print them as JSON, with what ignores case")
	flag.Parse()
	if err := run(*asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "literals: error:", err)
		os.Exit(1)
	}
}

func run(asJSON bool) error {
	cat, err := catalog.Embedded()
	if err != nil {
		return err
	}
	s, err := scan.New(cat, nil)
	if err != nil {
		return err
	}
	lits := s.Literals()
	w := bufio.NewWriter(os.Stdout)
	if asJSON {
		enc := json.NewEncoder(w)
		for _, l := range lits {
			if err := enc.Encode(l); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	for _, l := range lits {
		if !strings.ContainsAny(l.Text, "\n\r") {
			fmt.Fprintln(w, l.Text)
		}
	}
	return w.Flush()
}
