package probe

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Header is the first line of a readings document.
const Header = "# gpumedic readings 1"

// A Writer writes a readings document, each line in a write of its own as it comes, so
// that a reader has everything that was read before a driver call that never returned.
// Who wants the document in one piece gives it a buffer. The first write error is kept
// and given by Err.
type Writer struct {
	w    io.Writer
	text []byte // of the line that is written
	err  error
}

// NewWriter writes to w, beginning with the header.
func NewWriter(w io.Writer) *Writer {
	out := &Writer{w: w}
	out.line(Header)
	return out
}

// Subject begins the readings of one subject: node, gpu, mig, port, nvswitch, nic, process,
// unit, mount; name is the PCI address, the device name, the process id and so on, and
// empty for the node. A process on several GPUs is a subject for each: "4242 0000:0a:00.0".
// The same subject may come again: its readings join.
func (w *Writer) Subject(kind, name string) {
	if name = clean(name); name != "" {
		kind += " " + name
	}
	w.line("[", kind, "]")
}

// Value writes a reading. value is a string, bool (yes or no), an integer, or a float.
func (w *Writer) Value(key string, value any) { w.line(key, ": ", format(value)) }

// Noted writes a reading and where it comes from or what goes with it.
func (w *Writer) Noted(key string, value any, note string) {
	w.line(key, ": ", format(value), "  # ", clean(note))
}

// Absent writes that there is no such value here, and why: not supported by the product,
// no permission, an older driver.
func (w *Writer) Absent(key, why string) { w.line(key, ": N/A  # ", clean(why)) }

// Unknown writes that the value should be there and could not be read. word is
// "unknown error", "gpu is lost" or "gpu requires reset".
func (w *Writer) Unknown(key, word, why string) { w.line(key, ": ", word, "  # ", clean(why)) }

// Err is the first error of writing.
func (w *Writer) Err() error { return w.err }

func (w *Writer) line(parts ...string) {
	if w.err != nil {
		return
	}
	w.text = w.text[:0]
	for _, p := range parts {
		w.text = append(w.text, p...)
	}
	w.text = append(w.text, '\n')
	if _, err := w.w.Write(w.text); err != nil {
		w.err = fmt.Errorf("write readings: %w", err)
	}
}

func format(v any) string {
	switch v := v.(type) {
	case string:
		return clean(v)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case int:
		return strconv.Itoa(v)
	case int32:
		return strconv.Itoa(int(v))
	case uint32:
		return strconv.FormatUint(uint64(v), 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	}
	return clean(fmt.Sprint(v))
}

// clean keeps a value on its line and out of the note.
func clean(s string) string {
	s = strings.Map(func(r rune) rune { // gives back s where there is nothing to do
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(strings.ReplaceAll(s, "  # ", " # "))
}
