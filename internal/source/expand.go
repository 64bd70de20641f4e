package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFiles bounds a folder: more files than a person keeps for one incident, few
// enough to list.
const maxFiles = 50_000

// ExpandOptions are the surroundings of the arguments.
type ExpandOptions struct {
	Stdin io.Reader // what "-" reads; nil means os.Stdin
	Node  string    // node of inputs that name none (--node)
}

// Expand turns arguments into inputs, in the order given; the files of a folder
// are sorted, rotated logs oldest first. It never fails: an argument that names
// nothing readable becomes an input with a problem.
func Expand(args []string, o ExpandOptions) []Input {
	var out []Input
	stdin := false
	for _, arg := range args {
		node, path := splitNode(arg)
		if node == "" {
			node = o.Node
		}
		if path == "-" {
			if stdin {
				out = append(out, broken("stdin", node, "standard input is named twice: it can be read once"))
				continue
			}
			stdin = true
			out = append(out, stdinInput(o.Stdin, node))
			continue
		}
		out = append(out, expandPath(path, node)...)
	}
	shortNames(out)
	return out
}

func stdinInput(r io.Reader, node string) Input {
	if r == nil {
		r = os.Stdin
	}
	in := FromReader("stdin", func() (io.ReadCloser, error) { return io.NopCloser(r), nil })
	in.Node = node
	return in
}

// splitNode splits host=path. An existing file whose name holds "=" stays a file.
func splitNode(arg string) (node, path string) {
	host, rest, ok := strings.Cut(arg, "=")
	if !ok || rest == "" || !isHost(host) {
		return "", arg
	}
	if _, err := os.Lstat(arg); err == nil {
		return "", arg
	}
	return host, rest
}

func isHost(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '-' && c != '.' && c != '_') {
			return false
		}
	}
	return s != ""
}

func expandPath(path, node string) []Input {
	info, err := os.Stat(path)
	if err != nil {
		return []Input{broken(path, node, pathProblem(err))}
	}
	if info.IsDir() {
		return expandFolder(path, node)
	}
	return []Input{fromFile(path, node)}
}

// pathProblem words an error of the file system for a person: what and what to do.
func pathProblem(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or folder"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied: read it as a user who may (for example with sudo)"
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return "read: " + err.Error()
}

// expandFolder walks a folder. Files that hold no text (images, programs, core
// dumps) are left out and counted; what cannot be opened becomes a problem.
func expandFolder(dir, node string) []Input {
	var files []string
	var out []Input
	full := false
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			out = append(out, broken(p, node, pathProblem(err)))
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			if p != dir && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
		case len(files) >= maxFiles:
			full = true
			return fs.SkipAll
		case isRegular(p, d):
			files = append(files, p)
		}
		return nil
	})
	sortLogs(files)
	var skipped []string
	first := len(out)
	for _, f := range files {
		in := fromFile(f, node)
		switch kind := sniffFile(&in); kind {
		case fileText:
			out = append(out, in)
		case fileOther:
			skipped = append(skipped, f)
		}
	}
	note := folderNote(dir, skipped, full)
	switch {
	case len(out) == 0 && note == "":
		out = append(out, broken(dir, node, "folder holds no log files"))
	case len(out) == 0:
		out = append(out, broken(dir, node, "folder holds no log files; "+note))
	case note != "" && first < len(out):
		out[first].Problems = append(out[first].Problems, note)
	}
	return out
}

// isRegular follows links to files, not to folders: a link to a folder may lead
// back into the walk.
func isRegular(p string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(p)
	return err == nil && info.Mode().IsRegular()
}

func folderNote(dir string, skipped []string, full bool) string {
	var parts []string
	if n := len(skipped); n > 0 {
		names := make([]string, 0, 3)
		for _, f := range skipped[:min(n, 3)] {
			names = append(names, filepath.Base(f))
		}
		if n > 3 {
			names = append(names, "…")
		}
		files := "files"
		if n == 1 {
			files = "file"
		}
		parts = append(parts, fmt.Sprintf("left out %d %s without text in %s (%s)",
			n, files, filepath.Base(dir), strings.Join(names, ", ")))
	}
	if full {
		parts = append(parts, fmt.Sprintf("only the first %d files of %s were taken: name a smaller folder",
			maxFiles, filepath.Base(dir)))
	}
	return strings.Join(parts, "; ")
}

type fileSort uint8

const (
	fileText fileSort = iota
	fileOther
)

// sniffFile looks at the first bytes of a file in a folder. A file that cannot be
// opened or is in a packed form we know by name stays an input: its problem must
// be told.
func sniffFile(in *Input) fileSort {
	f, err := os.Open(in.Path)
	if err != nil {
		return fileText // Open tells the problem
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	if packed, _ := packedForm(head); packed != "" {
		return fileText
	}
	if len(head) > 0 && looksBinary(head) && !isFlight(head) {
		return fileOther
	}
	return fileText
}
