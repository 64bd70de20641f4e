package scan

import (
	"fmt"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/source"
	"os"
	"sort"
	"strings"
	"testing"
)

func TestZZDump(t *testing.T) {
	files := strings.Fields(os.Getenv("ZZ"))
	if len(files) == 0 {
		return
	}
	c, err := catalog.Embedded()
	if err != nil {
		c = &catalog.Catalog{}
	}
	s, err := New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		res, _ := s.Scan(t.Context(), source.Expand([]string{f}, source.ExpandOptions{}), Options{})
		fmt.Println("==", f)
		for _, g := range res.Signals {
			if os.Getenv("ZZK") != "" && !strings.HasPrefix(g.Kind, os.Getenv("ZZK")) {
				continue
			}
			r := "-"
			if g.Subject.Rank != nil {
				r = fmt.Sprint(*g.Subject.Rank)
			}
			fmt.Printf("  %s:%d %s x%d rank=%s pid=%d node=%s loc=%s", g.Evidence.Input, g.Evidence.Line, g.Kind, g.Count, r, g.Subject.Process.PID, g.Subject.Node, g.Subject.Location)
			ks := []string{}
			for k := range g.Fields {
				ks = append(ks, k)
			}
			sort.Strings(ks)
			for _, k := range ks {
				v := g.Fields[k]
				if len(v) > 70 {
					v = v[:70]
				}
				fmt.Printf(" %s=%q", k, v)
			}
			fmt.Println()
		}
	}
}
