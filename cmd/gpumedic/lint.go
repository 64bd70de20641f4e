package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lint"
	"github.com/gpumedic/gpumedic/internal/offline"
)

func (c *cli) lintCmd() *cobra.Command {
	var f answerFlags
	var env, quiet bool
	cmd := &cobra.Command{
		Use:   "lint [flags] FILE|DIR|-...",
		Short: "find settings that do nothing, do harm or stop the job, in scripts, images and manifests",
		Long: `lint looks for environment variables of CUDA, NCCL, PyTorch, TensorFlow, JAX,
vLLM and others that are misspelt, renamed, removed, left over from a diagnosis,
harmful, or have a value that the program cannot read. It names the line, what
is wrong, what to write instead, and the source.

FILE is a shell or batch script, Dockerfile, compose file, manifest of
Kubernetes, .env file, Python program, notebook, systemd unit, JSON file, or the
environment of a process (/proc/PID/environ). The kind is told from the content.
DIR is walked for such files.`,
		Example: `  gpumedic lint train.sbatch
  gpumedic lint Dockerfile k8s/                  # an image and its manifests
  kubectl get pod trainer-0 -o yaml | gpumedic lint -
  gpumedic lint --env                            # the environment of this shell
  gpumedic lint /proc/4711/environ               # of a running process
  gpumedic lint --format lines . | grep error    # for editors and CI

exit status: 0 nothing to change, 1 warning, 2 a setting that stops the job,
3 unknown, 64 usage error`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !env {
				return usage(errors.New("read arguments: nothing to look through"), "for example: gpumedic lint train.sh, or gpumedic lint --env")
			}
			l, cat, err := f.read(c)
			if err != nil {
				return err
			}
			r, err := c.lint(cat, l, args, env)
			if err != nil {
				return err
			}
			color, width := f.screen(c)
			c.status = r.ExitStatus()
			return c.deliver(f.out, func(w io.Writer) error {
				return r.Write(w, f.format, lint.Options{Lang: l, Color: color, Width: width, Quiet: quiet})
			})
		},
	}
	fl := cmd.Flags()
	f.add(fl, lint.Formats...)
	fl.BoolVar(&env, "env", false, "look through the environment of this process")
	quietFlag(fl, &quiet)
	return cmd
}

func (c *cli) lint(cat *catalog.Catalog, l string, args []string, env bool) (*lint.Result, error) {
	var sources []lint.Source
	for _, a := range args {
		s, err := c.lintSources(a)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s...)
	}
	if env {
		sources = append(sources, lint.Source{Name: "environment", Data: []byte(strings.Join(os.Environ(), "\x00") + "\x00")})
	}
	r := lint.Lint(cat, l, sources)
	r.Tool = gpumedic.Tool{Version: offline.Version(), Catalog: offline.CatalogVersion(cat)}
	return r, nil
}

// lintSources reads a file, standard input, or the files of a folder that can hold
// settings.
func (c *cli) lintSources(arg string) ([]lint.Source, error) {
	if arg == "-" {
		return []lint.Source{readSource("stdin", c.in)}, nil
	}
	st, err := os.Stat(arg)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage(fmt.Errorf("read input %s: no such file or folder", cmp.Or(arg, `""`)), "check the path; - reads standard input")
	}
	if err != nil || !st.IsDir() {
		return []lint.Source{openSource(arg)}, nil
	}
	var out []lint.Source
	err = filepath.WalkDir(arg, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			out = append(out, lint.Source{Name: p, Err: err})
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir() && p != arg && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".devcontainer" && d.Name() != ".vscode" && d.Name() != ".github" || d.Name() == "node_modules" || d.Name() == "__pycache__"):
			return fs.SkipDir
		case d.Type().IsRegular() && holdsSettings(d.Name()):
			out = append(out, openSource(p))
		}
		return nil
	})
	return out, err
}

// holdsSettings tells by the name which files of a folder are worth reading.
func holdsSettings(name string) bool {
	name = strings.ToLower(name)
	switch filepath.Ext(name) {
	case ".sh", ".bash", ".zsh", ".csh", ".sbatch", ".slurm", ".pbs", ".lsf", ".yaml", ".yml", ".json", ".py", ".ipynb", ".service", ".env", ".conf", ".job", ".run", ".envrc", ".dockerfile":
		return true
	}
	return strings.HasPrefix(name, "dockerfile") || strings.HasPrefix(name, "containerfile") || strings.Contains(name, ".env") || strings.HasSuffix(name, "_env")
}

func openSource(path string) lint.Source {
	f, err := os.Open(path)
	if err != nil {
		return lint.Source{Name: path, Err: err}
	}
	defer f.Close()
	return readSource(path, f)
}

// readSource reads a little more than lint looks at, so that it can tell.
func readSource(name string, r io.Reader) lint.Source {
	if r == nil {
		return lint.Source{Name: name}
	}
	b, err := io.ReadAll(io.LimitReader(r, 17<<20))
	return lint.Source{Name: name, Data: b, Err: err}
}
