package lint

import (
	"path"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Kinds of input.
const (
	kindShell      = "shell"
	kindSbatch     = "sbatch"
	kindDockerfile = "dockerfile"
	kindYAML       = "yaml"
	kindJSON       = "json"
	kindPython     = "python"
	kindNotebook   = "notebook"
	kindUnit       = "systemd"
	kindDotenv     = "env"
	kindEnviron    = "environ"
)

var (
	dockerLine = lazyre.New(`(?m)^(?i:FROM)\s+(--platform=\S+\s+)?[A-Za-z0-9$][^\s;]*(\s+(?i:as)\s+\S+)?\s*$`)
	dockerMore = lazyre.New(`(?m)^(?i:RUN|COPY|ENV|CMD|ENTRYPOINT|WORKDIR|ARG|LABEL|USER)\s`)
	batchLine  = lazyre.New(`(?m)^#(SBATCH|PBS|BSUB|\$) -`)
	unitLine   = lazyre.New(`(?m)^\[(Service|Unit|Install)\]\s*$`)
	yamlLine   = lazyre.New(`(?m)^\s*(- )?[A-Za-z_][\w./-]*:(\s|$)`)
	yamlTop    = lazyre.New(`(?m)^(apiVersion|kind|services|version|spec|name|envs|resources|run|setup):(\s|$)`)
	pyLine     = lazyre.New(`(?m)^\s*(import \w|from [\w.]+ import |def \w+\(|os\.environ|@\w)`)
	shLine     = lazyre.New(`(?m)^\s*(export [A-Za-z_]|set -|if \[|for \w+ in |fi$|done$|srun |sbatch |docker |mpirun |torchrun |echo )`)
	shebang    = lazyre.New(`^#!\s*\S*?(?:env\s+(?:-S\s+)?)?([a-z]+)[0-9.]*(\s|$)`)
)

// detect tells the kind from the content; the name decides only where the content
// could be several things.
func detect(name, body string) string {
	base := strings.ToLower(path.Base(name))
	ext := path.Ext(base)
	switch {
	case strings.IndexByte(body, 0) >= 0:
		return kindEnviron // /proc/PID/environ: NUL between the settings
	case batchLine.MatchString(body):
		return kindSbatch
	}
	if m := shebang.FindStringSubmatch(body); m != nil {
		if strings.HasSuffix(m[1], "python") {
			return kindPython
		}
		if strings.HasSuffix(m[1], "sh") {
			return kindShell
		}
	}
	trimmed := strings.TrimSpace(body)
	switch {
	case strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") && ext == ".json":
		if strings.Contains(body, `"cell_type"`) {
			return kindNotebook
		}
		return kindJSON
	case unitLine.MatchString(body):
		return kindUnit
	case ext == ".py":
		return kindPython
	case ext == ".yaml" || ext == ".yml":
		return kindYAML
	case ext == ".sh" || ext == ".bash" || ext == ".sbatch" || ext == ".slurm":
		return kindShell
	case base == "dockerfile" || base == "containerfile" || strings.HasPrefix(base, "dockerfile.") || ext == ".dockerfile",
		dockerLine.MatchString(body) && dockerMore.MatchString(body):
		return kindDockerfile
	}
	return guess(base, body)
}

// guess weighs lines when nothing is decisive.
func guess(base, body string) string {
	if strings.HasPrefix(base, ".env") || strings.HasSuffix(base, ".env") || base == "environment" || base == "env" || base == ".deepspeed_env" {
		return kindDotenv
	}
	py, sh := matching(pyLine, body), matching(shLine, body)
	if py > sh && py > 0 {
		return kindPython
	}
	if yamlTop.MatchString(body) && matching(yamlLine, body) > sh {
		return kindYAML
	}
	if sh == 0 && onlyAssignments(body) {
		return kindDotenv
	}
	return kindShell
}

// matching counts the lines that a pattern finds, of the first hundred.
func matching(re *lazyre.Regexp, body string) int {
	n, seen := 0, 0
	for line := range strings.Lines(body) {
		if re.MatchString(line) {
			n++
		}
		if seen++; seen > 100 {
			break
		}
	}
	return n
}

func onlyAssignments(body string) bool {
	n := 0
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !isName(strings.TrimSpace(strings.TrimPrefix(name, "export "))) {
			return false
		}
		// "NAME=value command" is a shell line
		if v := strings.TrimSpace(value); strings.Contains(v, " ") && v[0] != '"' && v[0] != '\'' && !strings.Contains(v, " #") && n == 0 {
			return false
		}
		n++
	}
	return n > 0
}

// read hands a text to the reader of its kind.
func (r *reader) read(kind, body string, line int) {
	if r.depth >= maxDepth {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	switch kind {
	case kindSbatch:
		r.batch(body, line)
	case kindShell:
		r.shellScript(body, line, "", session, variable)
	case kindDockerfile:
		r.dockerfile(body, line)
	case kindYAML:
		r.yaml(body, line)
	case kindJSON:
		r.json(body, line)
	case kindNotebook:
		r.notebook(body)
	case kindPython:
		r.python(body, line)
	case kindUnit:
		r.unit(body, line)
	case kindDotenv:
		r.dotenv(body, line)
	case kindEnviron:
		r.environ(strings.Split(body, "\x00"))
	}
}
