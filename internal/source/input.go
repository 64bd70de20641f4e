package source

import (
	"bytes"
	"io"
	"os"
)

// Input is one thing to read: a file, a stream or bytes at hand.
type Input struct {
	// Name is how reports call it: the shortest end of the path that tells it from
	// the other inputs of the run.
	Name string
	// Path is where it lies, "" when it is no file.
	Path string
	// Node is the host that the user named for it (host=path), or "".
	Node string
	// Problems were met before reading. An input that cannot be opened at all has
	// nothing but these.
	Problems []string
	// Incomplete says that Problems kept something from being read.
	Incomplete bool
	// Hint is what the path lets one guess of the text, for lines that do not say
	// it themselves.
	Hint Hint

	open func() (io.ReadCloser, error)
	file bool // Path can be opened by another program
	tail int  // so many parts of Path are always in Name: the entry of an archive
}

// FromBytes makes an input of text at hand.
func FromBytes(name string, data []byte) Input {
	return FromReader(name, func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	})
}

// FromReader makes an input of a stream that open starts.
func FromReader(name string, open func() (io.ReadCloser, error)) Input {
	return Input{Name: name, Hint: HintOf(name), open: open}
}

// fromFile makes an input of a path without touching it yet.
func fromFile(path, node string) Input {
	return Input{Name: path, Path: path, Node: node, Hint: HintOf(path), file: true, open: func() (io.ReadCloser, error) {
		return openFile(path)
	}}
}

// broken is an input of which only the problem is known.
func broken(name, node, problem string) Input {
	return Input{Name: name, Path: name, Node: node, Problems: []string{problem}, Incomplete: true}
}

// Missing reports whether the input names a path where nothing is.
func (in Input) Missing() bool {
	if in.Path == "" || in.open != nil {
		return false
	}
	_, err := os.Lstat(in.Path)
	return os.IsNotExist(err)
}
