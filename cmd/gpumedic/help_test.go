package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// verbs are the commands that a person can give, cobra's own apart.
func verbs(cmd *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, c := range cmd.Commands() {
		switch {
		case c.Hidden || c.Name() == "help" || c.Name() == "completion":
		case c.HasSubCommands():
			out = append(out, verbs(c)...)
		default:
			out = append(out, c)
		}
	}
	return out
}

func root() *cobra.Command {
	c := &cli{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	return c.root()
}

// TestHelpIsAlike: every verb has an example and its exit statuses, its flags go by the
// names that all share, and no line is wider than a terminal.
func TestHelpIsAlike(t *testing.T) {
	all := verbs(root())
	if len(all) < 15 {
		t.Errorf("only %d verbs", len(all))
	}
	for _, cmd := range all {
		name := cmd.CommandPath()
		cmd.InitDefaultHelpFlag() // as when it is called
		var b bytes.Buffer
		cmd.SetOut(&b)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		help := b.String()
		example, status := strings.Index(help, "\nExamples:\n  gpumedic "), strings.Index(help, "\nexit status: 0 ")
		if example < 0 || status < example || strings.Index(help, "\nFlags:\n") < status {
			t.Errorf("%s --help wants examples, then the exit status, then the flags:\n%s", name, help)
		}
		for _, flag := range []string{"lang", "out", "catalog"} {
			if name == "gpumedic watch" && flag == "out" {
				continue // a daemon gives no answer that ends
			}
			if cmd.Flags().Lookup(flag) == nil && cmd.InheritedFlags().Lookup(flag) == nil {
				t.Errorf("%s has no --%s", name, flag)
			}
		}
		if q := cmd.Flags().Lookup("quiet"); q != nil && q.Shorthand != "q" {
			t.Errorf("%s: --quiet is -q everywhere", name)
		}
		text, _, _ := strings.Cut(help, "\nFlags:\n")
		for line := range strings.Lines(text) {
			if len([]rune(strings.TrimRight(line, "\n"))) > 80 {
				t.Errorf("%s --help: wider than 80: %s", name, line)
			}
		}
		if !strings.Contains(cmd.Use, "[flags]") {
			t.Errorf("%s: usage %q does not say where flags go", name, cmd.Use)
		}
		if strings.ToLower(cmd.Short[:1]) != cmd.Short[:1] || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: %q begins with a capital or ends with a full stop", name, cmd.Short)
		}
	}
}

// TestReadmesListTheVerbs: both name every verb.
func TestReadmesListTheVerbs(t *testing.T) {
	for _, file := range []string{"../../README.md", "../../README.zh-CN.md"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, cmd := range root().Commands() {
			if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
				continue
			}
			if !strings.Contains(string(b), "gpumedic "+cmd.Name()) {
				t.Errorf("%s does not show gpumedic %s", file, cmd.Name())
			}
		}
	}
}

// TestReadmesShowRealOutput: what they quote of a report stands in it.
func TestReadmesShowRealOutput(t *testing.T) {
	for file, report := range map[string]string{
		"../../README.md":       "testdata/golden/link-errors-then-lost-gpu.en.txt",
		"../../README.zh-CN.md": "testdata/golden/link-errors-then-lost-gpu.zh.txt",
	} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		real, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile("(?s)\n```\n(.*?)```\n").FindSubmatch(page)
		if m == nil {
			t.Errorf("%s quotes no report", file)
			continue
		}
		for line := range strings.Lines(string(m[1])) {
			if strings.TrimSpace(line) != "..." && !strings.Contains("\n"+string(real), "\n"+line) {
				t.Errorf("%s quotes a line that the report does not have: %s", file, line)
			}
		}
	}
}

// TestCommandsInTextsExist: every gpumedic command that a page or a remedy of the catalog
// tells to run is a verb with these flags.
func TestCommandsInTextsExist(t *testing.T) {
	call := regexp.MustCompile("gpumedic((?: +(?:[a-z]+|--?[a-z][a-z0-9-]*(?:[= ][^\\s`'\"&|;#-][^\\s`'\"&|;#]*)?))+)")
	var files []string
	for _, glob := range []string{"../../*.md", "../../docs/*.md", "../../catalog/faults/*/fault.yaml", "../../deploy/*/*"} {
		more, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	calls := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(b), -1) {
			words := strings.Fields(m[1])
			cmd, rest, err := root().Find(words)
			if err != nil || !cmd.HasParent() {
				continue // a sentence that goes on behind the program's name
			}
			if cmd.Hidden {
				continue // of a later version, which answers any flags
			}
			calls++
			for _, w := range rest {
				name, isFlag := strings.CutPrefix(w, "--")
				name, _, _ = strings.Cut(name, "=")
				if isFlag && name != "help" && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
					t.Errorf("%s tells to run gpumedic%s: %s has no --%s", file, m[1], cmd.CommandPath(), name)
				}
			}
		}
	}
	if calls < 100 {
		t.Errorf("only %d calls found", calls)
	}
}
