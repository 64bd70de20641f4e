package source

import (
	"path/filepath"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Hint is what a path suggests of the text in it: logs of many ranks are told apart
// by their names alone. It is a guess; what the text says wins.
type Hint struct {
	// Rank is the number of the process; RankKind is global, local or task.
	Rank     string
	RankKind string
	// Node is the host's name as it stands in the path.
	Node string
}

// IsZero reports whether the path suggests nothing.
func (h Hint) IsZero() bool { return h == Hint{} }

var (
	logExt     = lazyre.New(`(?i)\.(?:log|txt|out|err|json|jsonl|pickle|pkl|stdout|stderr|gz|bz2|xz|zst|lz4|trace|dump)$`)
	rankName   = lazyre.New(`(?i)(?:^|[^a-z0-9])(global[_-]?|local[_-]?)?rank[_.=-]?(\d{1,5})(?:[^a-z0-9]|$)`)
	gpuName    = lazyre.New(`(?i)(?:^|[^a-z0-9])gpu[_.=-]?(\d{1,2})(?:[^a-z0-9]|$)`)
	nodeName   = lazyre.New(`(?i)(?:^|[^a-z0-9])((?:node|host)[_.-]?\d{1,5})(?:[^a-z0-9]|$)`)
	taskName   = lazyre.New(`(?i)(?:^|[^a-z0-9])(?:worker|trainer|task|proc(?:ess)?)[_.=-]?(\d{1,5})(?:[^a-z0-9]|$)`)
	slurmTask  = lazyre.New(`(?i)^(?:slurm|job|srun)[_.-]?\d{2,}(?:\.\d+)?[_-](\d{1,5})$`)
	slurmNode  = lazyre.New(`(?i)^(?:slurm|job|srun)[_.-]?\d{2,}(?:\.\d+)?[_.-]([a-z][a-z0-9-]*\d)$`)
	dumpName   = lazyre.New(`^_?dump_(\d{1,5})$`)
	elasticDir = lazyre.New(`(?:^|/)attempt_\d+/(\d{1,4})/(?:stdout|stderr|error)\b[^/]*$`)
)

// maxNodeGPUs bounds what can be a GPU of one node: "gpu417" is a host.
const maxNodeGPUs = 16

// HintOf reads the hints of a path, the file's own name before those of its folders.
func HintOf(path string) Hint {
	path = filepath.ToSlash(path)
	var h Hint
	if m := elasticDir.FindStringSubmatch(path); m != nil {
		h.rank("local", m[1])
	}
	parts := strings.Split(path, "/")
	for i := len(parts) - 1; i >= max(0, len(parts)-5); i-- {
		name := parts[i]
		for range 3 {
			name = logExt.ReplaceAllString(name, "")
		}
		h.read(name)
	}
	return h
}

func (h *Hint) rank(kind, n string) {
	if h.Rank != "" {
		return
	}
	if n = strings.TrimLeft(n, "0"); n == "" {
		n = "0"
	}
	h.Rank, h.RankKind = n, kind
}

func (h *Hint) read(name string) {
	if m := nodeName.FindStringSubmatch(name); m != nil && h.Node == "" {
		h.Node = m[1]
	} else if m := slurmNode.FindStringSubmatch(name); m != nil && h.Node == "" && !rankName.MatchString(name) {
		h.Node = m[1]
	}
	if m := rankName.FindStringSubmatch(name); m != nil {
		kind := "global"
		if strings.HasPrefix(strings.ToLower(m[1]), "local") {
			kind = "local"
		}
		h.rank(kind, m[2])
	}
	if m := dumpName.FindStringSubmatch(name); m != nil {
		h.rank("global", m[1])
	}
	if m := gpuName.FindStringSubmatch(name); m != nil && !slurmNode.MatchString(name) && atoiSmall(m[1]) < maxNodeGPUs {
		h.rank("local", m[1])
	}
	if m := taskName.FindStringSubmatch(name); m != nil {
		h.rank("task", m[1])
	}
	if m := slurmTask.FindStringSubmatch(name); m != nil {
		h.rank("task", m[1])
	}
}

func atoiSmall(s string) int {
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}
