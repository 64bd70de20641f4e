package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxFiles bounds a folder: more files than a person keeps for one incident, few
// enough to list.
const maxFiles = 50_000

// ExpandOptions are the surroundings of the arguments.
type ExpandOptions struct {
	Stdin io.Reader // what "-" reads; nil means os.Stdin
	Node  string    // node of inputs that name none (--node)

	limits *limits // of archives; tests set smaller ones
}

// Expand turns arguments into inputs, in the order given; the files of a folder
// are sorted, rotated logs oldest first; an archive gives its entries. It never
// fails: an argument that names nothing readable becomes an input with a problem.
func Expand(args []string, o ExpandOptions) []Input {
	if o.limits == nil {
		o.limits = &archiveLimits
	}
	var out []Input
	stdin := false
	for _, arg := range args {
		node, path := splitNode(arg)
		if node == "" {
			node = o.Node
		}
		if path == "" { // a script's variable that is not set
			out = append(out, broken(`""`, node, "the name is empty"))
			continue
		}
		if path == "-" {
			if stdin {
				out = append(out, broken("stdin", node, "standard input is named twice: it can be read once"))
				continue
			}
			stdin = true
			out = append(out, stdinInputs(o, node)...)
			continue
		}
		out = append(out, expandPath(path, node, o.limits)...)
	}
	shortNames(out)
	return out
}

// stdinInputs is standard input, or the entries of an archive that comes there: a
// copy on disk lets them be opened in any order.
func stdinInputs(o ExpandOptions, node string) []Input {
	var r io.Reader = os.Stdin
	if o.Stdin != nil {
		r = o.Stdin
	}
	br := bufio.NewReaderSize(r, headSize)
	if head, _ := br.Peek(512); mayHoldArchive(head) {
		head, _ = br.Peek(headSize)
		l, what := peel(bytes.NewReader(head))
		l.close()
		if what == contentTar || what == contentZip {
			f, size, err := spool(br, maxSpool)
			if err != nil {
				return []Input{broken("stdin", node, pathProblem(err))}
			}
			a := archive{path: "stdin", node: node, depth: 1, size: size, lim: o.limits, file: f, open: func() (io.ReadCloser, error) {
				return part{io.NewSectionReader(f, 0, size)}, nil
			}}
			return a.inputs(what)
		}
	}
	in := FromReader("stdin", func() (io.ReadCloser, error) { return io.NopCloser(br), nil })
	in.Node = node
	return []Input{in}
}

// mayHoldArchive is the quick look: most inputs are plain text.
func mayHoldArchive(head []byte) bool {
	name, _ := packedForm(head)
	return name == formTar || name == formZip || compressed(name)
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

func expandPath(path, node string, lim *limits) []Input {
	info, err := os.Stat(path)
	if err != nil {
		return []Input{broken(path, node, pathProblem(err))}
	}
	if info.IsDir() {
		return expandFolder(path, node, lim)
	}
	in := fromFile(path, node)
	if err := refused(info.Mode()); err != nil {
		return []Input{broken(path, node, pathProblem(err))}
	}
	if !info.Mode().IsRegular() {
		return []Input{in} // a pipe must not be touched before it is read
	}
	ins, _ := expandFile(in, lim)
	return ins
}

// expandFile gives the entries of an archive, or the file itself. what is its
// content.
func expandFile(in Input, lim *limits) ([]Input, content) {
	f, err := openFile(in.Path)
	if err != nil {
		return []Input{in}, contentText // Open tells the problem
	}
	head := make([]byte, 4096)
	n, _ := io.ReadFull(f, head)
	if head = head[:n]; !mayHoldArchive(head) {
		f.Close()
		if name, _ := packedForm(head); name == "" && n > 0 && looksBinary(head) && !isFlight(head) {
			return []Input{in}, contentOther
		}
		return []Input{in}, contentText
	}
	l, what := peel(io.MultiReader(bytes.NewReader(head), f))
	depth := l.depth
	l.close()
	f.Close()
	if what != contentTar && what != contentZip {
		return []Input{in}, what
	}
	a := archive{path: in.Path, node: in.Node, depth: 1, lim: lim, open: in.open}
	if info, err := os.Stat(in.Path); err == nil {
		a.size = info.Size()
	}
	if what == contentZip && depth == 0 {
		if a.file, err = os.Open(in.Path); err != nil {
			return []Input{broken(in.Path, in.Node, pathProblem(err))}, what
		}
	}
	return a.inputs(what), what
}

// pathProblem words an error of the file system for a person: what and what to do.
func pathProblem(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or folder"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied: read it as a user who may (for example with sudo)"
	}
	if ie, ok := errors.AsType[inputError](err); ok {
		return string(ie)
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if errors.Is(err, syscall.ELOOP) {
		return "symbolic links lead in a circle: there is no file at the end"
	}
	return "read: " + err.Error()
}

// expandFolder walks a folder. Files that hold no text (images, programs, core
// dumps) are left out and counted; what cannot be opened becomes a problem.
func expandFolder(dir, node string, lim *limits) []Input {
	var files []string
	var out []Input
	full := false
	dangling := 0
	// The slash makes the walk follow a link that the user named.
	_ = filepath.WalkDir(dir+string(filepath.Separator), func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			out = append(out, broken(p, node, pathProblem(err)))
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			if filepath.Clean(p) != filepath.Clean(dir) && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
		case len(files) >= maxFiles:
			full = true
			return fs.SkipAll
		case isRegular(p, d):
			files = append(files, p)
		case d.Type()&fs.ModeSymlink != 0 && !exists(p):
			dangling++
		}
		return nil
	})
	sortLogs(files)
	var skipped []string
	first := len(out)
	for _, f := range files {
		switch ins, what := expandFile(fromFile(f, node), lim); what {
		case contentOther:
			skipped = append(skipped, f)
		default:
			out = append(out, ins...)
		}
	}
	note := folderNote(dir, skipped, dangling, full)
	switch {
	case len(out) == 0 && note == "":
		out = append(out, broken(dir, node, "folder holds no log files"))
	case len(out) == 0:
		out = append(out, broken(dir, node, "folder holds no log files; "+note))
	case note != "" && first < len(out):
		out[first].Problems = append(out[first].Problems, note)
		out[first].Incomplete = out[first].Incomplete || full || dangling > 0
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

func exists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

func folderNote(dir string, skipped []string, dangling int, full bool) string {
	var parts []string
	if len(skipped) > 0 {
		parts = append(parts, leftOut(skipped)+" without text in "+filepath.Base(dir)+someOf(skipped))
	}
	switch {
	case dangling == 1:
		parts = append(parts, "1 link in "+filepath.Base(dir)+" leads to no file")
	case dangling > 1:
		parts = append(parts, fmt.Sprintf("%d links in %s lead to no file", dangling, filepath.Base(dir)))
	}
	if full {
		parts = append(parts, fmt.Sprintf("only the first %d files of %s were taken: name a smaller folder",
			maxFiles, filepath.Base(dir)))
	}
	return strings.Join(parts, "; ")
}

func leftOut(names []string) string {
	if len(names) == 1 {
		return "left out 1 file"
	}
	return fmt.Sprintf("left out %d files", len(names))
}

// someOf names the first three.
func someOf(files []string) string {
	names := make([]string, 0, 4)
	for _, f := range files[:min(len(files), 3)] {
		names = append(names, filepath.Base(f))
	}
	if len(files) > 3 {
		names = append(names, "…")
	}
	return " (" + strings.Join(names, ", ") + ")"
}
