package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpumedic/gpumedic/catalog"
)

// answerFlags are the flags of every verb that answers: the form and language of the
// answer, where it goes, and what it is judged by. They stand in one place so that all
// verbs name and read them alike.
type answerFlags struct {
	format, lang, out, catalog string
	formats                    []string
}

// add takes the forms that the verb knows, the default first; none is one that has no name.
func (f *answerFlags) add(fl *pflag.FlagSet, formats ...string) {
	if f.formats = formats; len(formats) > 0 {
		fl.StringVar(&f.format, "format", formats[0], list(formats, "or"))
	}
	fl.StringVar(&f.lang, "lang", "", "en or zh (default: from the locale)")
	fl.StringVar(&f.out, "out", "", "write the answer to `FILE`, whole or not at all")
	fl.StringVar(&f.catalog, "catalog", "", "add or override catalog entries from `DIR`")
}

// read refuses a wrong flag before any work is done, and loads the catalog.
func (f *answerFlags) read(c *cli) (language string, cat *catalog.Catalog, err error) {
	if f.format == "md" {
		f.format = "markdown"
	}
	if len(f.formats) > 0 && !slices.Contains(f.formats, f.format) {
		return "", nil, usage(fmt.Errorf("read --format: unknown format %q", f.format), "formats are "+list(f.formats, "and"))
	}
	if language, err = outputLang(f.lang); err != nil {
		return "", nil, err
	}
	cat, err = c.loadCatalog(f.catalog)
	return language, cat, err
}

// screen is what the answer is shown on: a file has neither colour nor width.
func (f *answerFlags) screen(c *cli) (color bool, width int) {
	if f.out != "" && f.out != "-" {
		return false, 0
	}
	tty, width := terminal(c.out)
	return colour(tty), width
}

func quietFlag(fl *pflag.FlagSet, p *bool) {
	fl.BoolVarP(p, "quiet", "q", false, "the verdict line and the exit status")
}

// list joins words for a sentence: "text, json and markdown".
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// apart refuses flags that were given and do not go with another that was.
func apart(cmd *cobra.Command, flag string, others ...string) error {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	for _, o := range others {
		if cmd.Flags().Changed(o) {
			return usage(fmt.Errorf("read flags: --%s does not go with --%s", o, flag), cmd.CommandPath()+" --help shows examples")
		}
	}
	return nil
}

// atLeast refuses a duration that is too short to mean anything.
func atLeast(least time.Duration, flag string, d time.Duration) error {
	switch {
	case d < 0:
		return usage(fmt.Errorf("read --%s: %v is negative", flag, d), "write 30s, 10m, 1h")
	case d < least:
		return usage(fmt.Errorf("read --%s: %v is less than %v", flag, d, least), "write 30s, 10m, 1h")
	}
	return nil
}

// readTime reads a time in one of the forms that people write. Where none is stated the
// time is of this zone.
func readTime(flag, s string, zone *time.Location) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, strings.TrimSpace(s), zone); err == nil {
			return t, nil
		}
	}
	of := "UTC"
	if zone == time.Local {
		of = "local time"
	}
	return time.Time{}, usage(fmt.Errorf("read --%s: cannot read time %q", flag, s), "write 2006-01-02T15:04:05Z or 2006-01-02 15:04:05 ("+of+")")
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("read arguments: %q is too much", args[0]), cmd.CommandPath()+" --help shows examples")
	}
	return nil
}

// aVerb refuses a word that is none of a command's verbs, and offers the nearest.
func aVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " --help shows the verbs and examples"
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + cmd.CommandPath() + " " + near[0] + "?"
	}
	return usage(fmt.Errorf("read arguments: unknown command %q", args[0]), hint)
}
