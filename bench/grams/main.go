// Command grams counts which four bytes in a row are common in logs, for the choice of
// windows in internal/scan/literal. It reads the named files, or all .log files under
// named folders, and prints the commonest, one a line: how common, then the four bytes.
//
//	go run ./bench/grams catalog examples messages.log >internal/scan/literal/grams.txt
//
// The list there was made of the logs in this repository and of the messages in common
// daemons (`strings` of systemd, sshd, git, containerd), since ordinary lines are what
// the search must pass over. Lines that differ in their numbers only count once, or one long loop of a test case
// would outweigh all else. Case is ignored as the search ignores it.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	most := flag.Int("n", 3000, "how many")
	flag.Parse()
	c := counter{lines: map[string]bool{}, grams: map[[4]byte]int{}}
	for _, root := range flag.Args() {
		if err := filepath.WalkDir(root, c.visit); err != nil {
			fmt.Fprintln(os.Stderr, "grams: error:", err)
			os.Exit(1)
		}
	}
	c.print(*most)
}

type counter struct {
	lines map[string]bool
	grams map[[4]byte]int
}

func (c *counter) visit(path string, d fs.DirEntry, err error) error {
	if err != nil || d.IsDir() || !strings.HasSuffix(path, ".log") {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(b) {
		c.line(bytes.TrimRight(line, "\r\n"))
	}
	return nil
}

func (c *counter) line(line []byte) {
	folded := bytes.Clone(line)
	for i, ch := range folded {
		if folded[i] = ch | 0x20; ch >= '0' && ch <= '9' {
			folded[i] = '0'
		}
	}
	if c.lines[string(folded)] {
		return
	}
	c.lines[string(folded)] = true
	for i := 0; i+4 <= len(folded); i++ {
		c.grams[[4]byte(folded[i:])]++
	}
}

// print leaves out what holds digits or is no ASCII text.
func (c *counter) print(most int) {
	var list [][4]byte
	for g := range c.grams {
		if !slices.ContainsFunc(g[:], func(b byte) bool { return b < ' ' || b > 0x7f || b >= '0' && b <= '9' }) {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b [4]byte) int {
		if d := c.grams[b] - c.grams[a]; d != 0 {
			return d
		}
		return bytes.Compare(a[:], b[:])
	})
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	for _, g := range list[:min(most, len(list))] {
		// Doublings of one in 16,384 lines.
		// A space is written _, which as a byte of text is 0x7f with its case bit: that is ^.
		text := strings.NewReplacer(" ", "_", "\x7f", "^").Replace(string(g[:]))
		fmt.Fprintf(w, "%x%s\n", min(15, bits.Len(uint(c.grams[g]*16384/len(c.lines)))), text)
	}
}
