package scan

import (
	"bytes"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/lazyre"
	"github.com/gpumedic/gpumedic/internal/source"
)

// cutter cuts a bug report into its sections. It is the feed of the section that is
// being read: begin goes to the next one, next hands out its blocks. Lines keep their
// numbers of the whole file; offsets count from the start of the section.
type cutter struct {
	rd *source.Reader
	x  *examiner

	block source.Block
	at    int // how much of the block is done
	line  int // of the row at `at`
	mid   bool
	over  bool // no block is left

	part   part
	ended  bool // of the section
	head   source.Block
	off    int64 // in the section
	rows   int
	past   int64 // bytes of the sections before
	report reportHead
}

// reportHead is what the script wrote first and last.
type reportHead struct {
	host     string
	day      time.Time // on which it ran
	complete bool      // its last line was seen
}

// maxHead is how many rows may stand before the title of a section.
const maxHead = 16

// row is the next row of the report, nil at the end.
func (c *cutter) row() []byte {
	for c.at == len(c.block.Data) {
		b, err := c.rd.Next()
		if err != nil {
			c.over = true
			return nil
		}
		c.mid = c.block.Cut
		c.block, c.at, c.line = b, 0, b.FirstLine
	}
	rest := c.block.Data[c.at:]
	if n := bytes.IndexByte(rest, '\n'); n >= 0 {
		return rest[:n+1]
	}
	return rest
}

// take goes behind a row.
func (c *cutter) take(row []byte) {
	c.at += len(row)
	c.line++
	c.mid = false
	c.learn(row)
}

// begin goes to the next section, and says whether there is one.
func (c *cutter) begin() bool {
	c.past += c.off
	c.head, c.off, c.rows, c.ended = source.Block{}, 0, 0, false
	row := c.row()
	if row == nil {
		return false
	}
	inLogs := c.part.logs && isLogName(row)
	c.head.FirstLine = c.line
	c.part = part{}
	for title := false; row != nil && !title && c.head.Rows < maxHead; row = c.row() {
		if title = !isBanner(row) && len(bytes.TrimSpace(row)) > 0 || c.block.Cut; title {
			c.part = partOf(string(trimEOL(row[:min(len(row), 256)])))
		}
		c.head.Data = append(c.head.Data, row...)
		c.head.Rows++
		c.head.Cut = c.block.Cut
		c.take(row)
	}
	if c.part.name == "" {
		c.part = part{kind: kindAbsent}
	}
	c.part.line = c.head.FirstLine
	c.part.logs = c.part.logs || inLogs
	if c.part.kind == kindHeader {
		c.report = reportHead{}
	}
	return true
}

// next implements feed.
func (c *cutter) next() *block {
	b := c.piece()
	if b != nil {
		c.x.examine(b)
	}
	return b
}

// skip goes to the end of the section unread.
func (c *cutter) skip() {
	for c.piece() != nil {
	}
}

func (c *cutter) free(source.Block) {} // a block may hold pieces of several sections
func (c *cutter) close()            {}

// piece is the next part of the section that lies in one block.
func (c *cutter) piece() *block {
	if len(c.head.Data) > 0 {
		b := c.head
		c.head = source.Block{}
		return c.emit(b)
	}
	if c.ended || c.row() == nil {
		return nil
	}
	b := source.Block{FirstLine: c.line}
	start := c.at
	for c.at < len(c.block.Data) {
		row := c.row()
		if !c.mid && (isBanner(row) || c.part.logs && isLogName(row)) {
			c.ended = true
			break
		}
		b.Rows++
		c.take(row)
	}
	if c.at == start {
		return nil
	}
	b.Data = c.block.Data[start:c.at:c.at]
	b.Cut = c.block.Cut
	return c.emit(b)
}

func (c *cutter) emit(b source.Block) *block {
	b.Offset = c.off
	c.off += int64(len(b.Data))
	out := &block{Block: b, firstRow: c.rows}
	c.rows += b.Rows
	return out
}

var (
	isoDay  = lazyre.New(`\b(20\d\d)-(\d\d)-(\d\d) \d\d:\d\d`)
	dateDay = lazyre.New(`\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w* +(\d\d?)\b.*\b(20\d\d)\b`)
	dateEU  = lazyre.New(`\b(\d\d?) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w* (20\d\d)\b`)
)

// learn reads the lines by which the script says where and when it ran.
func (c *cutter) learn(row []byte) {
	switch {
	case len(row) < 5 || len(row) > 1024:
	case row[0] == 'u' && c.part.kind == kindHeader && c.report.host == "":
		if f := strings.Fields(string(row)); len(f) > 2 && f[0] == "uname:" && f[1] == "Linux" {
			c.report.host = f[2]
		}
	case row[0] == 'D' && c.part.kind == kindHeader && c.report.day.IsZero():
		if text, ok := strings.CutPrefix(string(row), "Date: "); ok {
			c.report.day = dayOf(text)
		}
	case row[0] == '*' && c.report.day.IsZero(): // a date that could not be read: of a file made just now
		if text := string(row); strings.HasPrefix(text, "*** ls: ") && strings.Contains(text, " /proc/") {
			c.report.day = dayOf(text)
		}
	case row[0] == 'E' && bytes.HasPrefix(row, []byte(reportEnd)):
		c.report.complete = true
	}
}

// dayOf finds the day in the output of date, of which only the English and the ISO form
// are sure.
func dayOf(text string) time.Time {
	var day time.Time
	if m := isoDay.FindStringSubmatch(text); m != nil {
		day, _ = time.Parse("2006-01-02", m[1]+"-"+m[2]+"-"+m[3])
	} else if m := dateEU.FindStringSubmatch(text); m != nil {
		day, _ = time.Parse("2 Jan 2006", m[1]+" "+m[2]+" "+m[3])
	} else if m := dateDay.FindStringSubmatch(text); m != nil {
		day, _ = time.Parse("Jan 2 2006", m[1]+" "+m[2]+" "+m[3])
	}
	return day
}
