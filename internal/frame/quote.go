package frame

import (
	"bytes"
	"strings"
)

// A message of the kernel that stands bare, without a time or a writer, may be a log that
// lost its framing, or words of a text about such messages: a comment of source code, a
// page of a handbook. The lines around it tell.

// commentMarks begin a comment that ends with its line.
var commentMarks = []string{"//", "--", ";;"}

// conditions are words by which a handbook says what a message would mean. Reports of
// a failure have "for example", "as follows" and "similar" too, so these are not here.
var conditions = []string{
	"if you see", "if you find", "when you see", "if the log", "if the kernel", "if dmesg", "would look", "might look", "indicates that", "means that",
	"如果", "若出现", "若看到", "一旦", "表示", "说明此时", "内容时",
}

// maxQuoted is how many lines of a quoted log may stand between its introduction and a
// line of it.
const maxQuoted = 12

// quoted reports whether a bare kernel message is a quote.
func quoted(w Window) bool {
	line, _ := w.Line(0)
	line = bytes.TrimLeft(line[:min(len(line), 200)], " \t")
	for _, mark := range commentMarks {
		if bytes.HasPrefix(line, []byte(mark)) {
			return true
		}
	}
	return inComment(w, line) || introduced(w)
}

// inComment recognises a comment of C and its kin: a row of asterisks below "/*", or a
// line right below it.
func inComment(w Window, line []byte) bool {
	starred := bytes.HasPrefix(line, []byte("*"))
	for d := 1; d <= 40; d++ {
		prev, ok := w.Line(-d)
		if !ok {
			return false
		}
		prev = bytes.TrimSpace(prev[:min(len(prev), 400)])
		switch {
		case bytes.HasSuffix(prev, []byte("*/")):
			return false
		case bytes.HasPrefix(prev, []byte("/*")):
			return true
		case !starred || !bytes.HasPrefix(prev, []byte("*")):
			return false
		}
	}
	return false
}

// introduced reports whether the text above says what such a message would mean.
func introduced(w Window) bool {
	for d := 1; d <= maxQuoted; d++ {
		prev, ok := w.Line(-d)
		if !ok {
			return false
		}
		s := strings.TrimSpace(string(prev[:min(len(prev), 400)]))
		if s == "" || strings.HasPrefix(s, "```") || startsMessage(strings.TrimLeft(s, "*->` ")) {
			continue
		}
		if !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, "：") {
			return false
		}
		s = strings.ToLower(s)
		for _, word := range conditions {
			if strings.Contains(s, word) {
				return true
			}
		}
		return false
	}
	return false
}
