package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/replace"
)

// Rules of the terminal: answers go to standard output, progress and errors to
// standard error. Lower case, no full stop, a hint on its own line. Colour and
// progress only where a terminal is; NO_COLOR is respected.

// outputLang is --lang, else the locale's language.
func outputLang(flag string) (string, error) {
	if flag != "" {
		if !lang.Known(flag) {
			return "", usage(fmt.Errorf("read --lang: unknown language %q", flag), "languages are en and zh")
		}
		return flag, nil
	}
	for _, v := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if l := os.Getenv(v); l != "" {
			if strings.HasPrefix(strings.ToLower(l), "zh") {
				return "zh", nil
			}
			return "en", nil
		}
	}
	return "en", nil
}

// terminal reports whether w is a terminal and its width.
func terminal(w io.Writer) (ok bool, width int) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return false, 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		width = 80
	}
	return true, min(width, 100)
}

func colour(tty bool) bool { return tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// deliver writes an answer to a file, whole or not at all, or to standard output.
// A write that fails is status 74.
func (c *cli) deliver(path string, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		if err := write(c.out); err != nil {
			return hinted{fmt.Errorf("write report: %w", err), "the answer was cut off; use --out FILE", gpumedic.ExitOutput}
		}
		return nil
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := replace.File(path, b.Bytes()); err != nil {
		return hinted{fmt.Errorf("write report %s: %w", path, err), "check the folder and free space", gpumedic.ExitOutput}
	}
	return nil
}
