package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Names of the forms that are taken apart elsewhere.
const (
	formTar     = "tar archive"
	formZip     = "zip archive"
	formJournal = "systemd journal file"
)

// packedForms are file forms told by their first bytes. Those with a hint are not
// text and no compression: Expand takes archives apart, Open asks journalctl about
// journals, and where neither can, the hint says what to run instead.
var packedForms = []struct {
	magic, name, hint string
}{
	{magic: "\x1f\x8b", name: "gzip"},
	{magic: "BZh", name: "bzip2"},
	{magic: "\x28\xb5\x2f\xfd", name: "zstd"},
	{magic: "\xfd7zXZ\x00", name: "xz"},
	{magic: "\x04\x22\x4d\x18", name: "lz4"},
	{magic: "\x02\x21\x4c\x18", name: "lz4"},
	{magic: "\x1f\x9d", name: "compress (.Z)", hint: "gzip -dc FILE | gpumedic diagnose -"},
	{magic: "LZIP", name: "lzip", hint: "lzip -dc FILE | gpumedic diagnose -"},
	{magic: "7z\xbc\xaf\x27\x1c", name: "7z archive", hint: "unpack it and name the folder"},
	{magic: "Rar!\x1a\x07", name: "rar archive", hint: "unpack it and name the folder"},
	{magic: "PK\x03\x04", name: formZip, hint: "unpack it and name the folder"},
	{magic: "PK\x05\x06", name: formZip, hint: "unpack it and name the folder"}, // without entries
	{magic: "LPKSHHRH", name: formJournal, hint: "journalctl --file FILE -o export | gpumedic diagnose -"},
}

// packedForm names the packed form of data and, when it is not just compressed, says
// what to do.
func packedForm(head []byte) (name, hint string) {
	for _, f := range packedForms {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			if f.name == "bzip2" && (len(head) < 10 || string(head[4:10]) != "1AY&SY" && string(head[4:10]) != "\x17rE8P\x90") {
				continue // a text may start with BZh
			}
			return f.name, f.hint
		}
	}
	if isTar(head) {
		return formTar, "unpack it and name the folder"
	}
	return "", ""
}

// unreadable is an input in a form that must be unpacked first.
type unreadable struct{ name, hint string }

func (u unreadable) Error() string {
	return "is a " + u.name + ", which is not read directly: " + u.hint
}

const headSize = 64 << 10

// decoded wraps a stream so that it yields UTF-8 text: compression is undone (also
// when packed twice), UTF-16 with a byte-order mark is converted where it
// is text, a UTF-8 mark is
// dropped. The layers say what was undone; they are to be closed.
func decoded(r io.Reader) (*bufio.Reader, *layers, error) {
	l, err := unpack(r, headSize)
	if err != nil {
		return nil, l, err
	}
	head, _ := l.r.Peek(512)
	if name, hint := packedForm(head); name != "" {
		return nil, l, unreadable{name, hint}
	}
	return decodeText(l.r, head), l, nil
}

func decodeText(br *bufio.Reader, head []byte) *bufio.Reader {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, _ = br.Discard(3)
	case bytes.HasPrefix(head, []byte("\xff\xfe")) && looksUTF16(head[2:], false):
		_, _ = br.Discard(2)
		return bufio.NewReaderSize(&utf16Reader{src: br}, headSize)
	case bytes.HasPrefix(head, []byte("\xfe\xff")) && looksUTF16(head[2:], true):
		_, _ = br.Discard(2)
		return bufio.NewReaderSize(&utf16Reader{src: br, big: true}, headSize)
	}
	return br
}

// looksUTF16 tells text from binary data that begins like a byte-order mark (frames of
// MPEG audio, sensor dumps): nearly all units are printable, and some are plain ASCII,
// since every log has digits, spaces and line ends, in whatever language.
func looksUTF16(b []byte, big bool) bool {
	units, bad, ascii := 0, 0, 0
	for i := 0; i+1 < len(b); i += 2 {
		r := rune(b[i]) | rune(b[i+1])<<8
		if big {
			r = rune(b[i+1]) | rune(b[i])<<8
		}
		units++
		if utf16.IsSurrogate(r) && i+3 < len(b) {
			low := rune(b[i+2]) | rune(b[i+3])<<8
			if big {
				low = rune(b[i+3]) | rune(b[i+2])<<8
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += 2
			}
		}
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == 0x1b || r == '\f' || r == '\b' || r >= ' ' && r < 0x7f:
			ascii++
		case !unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r) || r == utf8.RuneError:
			bad++
		}
	}
	return units == 0 || bad*20 <= units && ascii*64 >= units
}

// utf16Reader converts UTF-16 to UTF-8. Half pairs become U+FFFD, an odd last
// byte is dropped.
type utf16Reader struct {
	src  *bufio.Reader
	big  bool
	held rune // a unit that was read too far, or 0
	has  bool
}

func (u *utf16Reader) unit() (rune, error) {
	if u.has {
		u.has = false
		return u.held, nil
	}
	b, err := u.src.Peek(2)
	if len(b) < 2 {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.EOF
		}
		return 0, err
	}
	v := rune(b[0]) | rune(b[1])<<8
	if u.big {
		v = rune(b[1]) | rune(b[0])<<8
	}
	_, _ = u.src.Discard(2)
	return v, nil
}

func (u *utf16Reader) Read(p []byte) (n int, err error) {
	for n+utf8.UTFMax <= len(p) {
		r, err := u.unit()
		if err != nil {
			return n, err
		}
		if utf16.IsSurrogate(r) {
			low, err := u.unit()
			pair := utf16.DecodeRune(r, low)
			if err == nil && pair == utf8.RuneError {
				u.held, u.has = low, true
			}
			r = pair
		}
		n += utf8.EncodeRune(p[n:], r)
	}
	return n, nil
}
