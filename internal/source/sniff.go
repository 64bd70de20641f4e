package source

import (
	"bytes"
	"unicode/utf8"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Kinds of text, told by content.
const (
	KindKernlog   = "kernlog"   // dmesg, kern.log, syslog, journalctl's line forms
	KindJournal   = "journal"   // journalctl -o export or json
	KindJoblog    = "joblog"    // output of a training or serving job
	KindSMI       = "smi"       // nvidia-smi
	KindBugreport = "bugreport" // nvidia-bug-report
	KindFlight    = "flight"    // dump of PyTorch's NCCL flight recorder
	KindUnknown   = "unknown"
)

// looksBinary reports whether data is no text: apart from runs of NUL bytes, which
// a crash leaves in honest logs, most of what remains cannot be printed.
func looksBinary(data []byte) bool {
	good, bad, nul := 0, 0, 0
	for len(data) > 0 {
		c := data[0]
		switch {
		case c == 0:
			nul++
		case c >= 0x20 && c < 0x7f, c == '\n', c == '\t', c == '\r', c == 0x1b, c == '\b', c == '\f':
			good++
		case c < 0x80:
			bad++
		default:
			r, n := utf8.DecodeRune(data)
			if r == utf8.RuneError && n <= 1 {
				bad++
			} else {
				good += n
				data = data[n:]
				continue
			}
		}
		data = data[1:]
	}
	if good == 0 {
		return nul+bad > 0
	}
	// Latin-1 text has single bytes that are no UTF-8: a fifth is more than any
	// language needs. Scattered NULs (not one long run) are counted by the share.
	return bad >= 8 && bad*5 > good || nul > 4*good
}

var (
	smiMark     = lazyre.New(`NVSMI LOG|\| NVIDIA-SMI \d|(?m)^(?:index|name|timestamp|uuid|pci\.bus_id|gpu_)[\w.]*, ?[\w.\[\] ]+,|^# gpu +`)
	reportMark  = lazyre.New(`(?i)nvidia-bug-report(?:\.sh)? (?:log file|version)|start of nvidia bug report log file`)
	exportMark  = lazyre.New(`(?m)^__(?:CURSOR|REALTIME_TIMESTAMP)=`)
	journalJSON = lazyre.New(`(?m)^\{.*"(?:__REALTIME_TIMESTAMP|__CURSOR|_TRANSPORT)"\s*:`)
	kernLine    = lazyre.New(`^(?:<\d+>)?(?:\[ *\d+\.\d{4,6}\]|\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) |\d+,\d+,\d+,|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d[.\d]* \S+ \S|\d{4}-\d\d-\d\dT[\d:.,]+(?:[+-]\d\d:?\d\d|Z) \S+ [\w./-]+(?:\[\d+\])?:|<\d+>\d )|\bkernel: |^(?:NVRM|pcieport|nvidia-nvswitch|nvidia-nvlink|pci |mce|EDAC|pstore)\b`)
	jobLine     = lazyre.New(`(?i)^\s*File ".*", line \d+|^Traceback \(most recent|\[(?:rank|default)?\d+\]:|\bNCCL (?:INFO|WARN)\b|\btorch|\bCUDA (?:error|out of memory|runtime|driver)\b|\b(?:epoch|loss|step|it/s|tokens?/s|lr)\b|^\S*(?:Error|Exception): |\b(?:INFO|WARN(?:ING)?|ERROR|DEBUG)\b|srun: |slurmstepd: |python|\bjax\b|tensorflow|\bvllm\b|transformers`)
)

// flightKeys are keys of a flight-recorder dump that hardly anything else has.
var flightKeys = [][]byte{[]byte("pg_config"), []byte("pg_status"), []byte("collective_seq_id"), []byte("profiling_name"), []byte("nccl_comm_state")}

// isFlight recognises a flight-recorder dump, pickled (by protocol and keys) or as
// JSON.
func isFlight(head []byte) bool {
	pickled := len(head) > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5
	if !pickled {
		head = bytes.TrimLeft(head, " \t\r\n")
		if len(head) < 2 || head[0] != '{' || !bytes.HasPrefix(bytes.TrimLeft(head[1:], " \t\r\n"), []byte{'"'}) {
			return false
		}
	}
	for _, key := range flightKeys {
		if i := bytes.Index(head, key); i > 0 && (pickled || head[i-1] == '"' && bytes.HasPrefix(bytes.TrimLeft(head[i+len(key):], "\" "), []byte{':'})) {
			return true
		}
	}
	return false
}

// holds reports whether one of the words is in a head. The marks of whole files take
// milliseconds to find nothing; a word that every match has takes none.
func holds(head []byte, words ...string) bool {
	for _, w := range words {
		if bytes.Contains(head, []byte(w)) {
			return true
		}
	}
	return false
}

// KindOf tells what text is from its head.
func KindOf(head []byte) string {
	switch {
	case isFlight(head):
		return KindFlight
	case holds(bytes.ToLower(head), "bug-report", "bug report") && reportMark.Match(head):
		return KindBugreport
	case holds(head, "__CURSOR", "__REALTIME_TIMESTAMP", "_TRANSPORT") && (exportMark.Match(head) || journalJSON.Match(head)):
		return KindJournal
	}
	kern, job, lines := 0, 0, 0
	for line := range bytes.SplitSeq(head, []byte{'\n'}) {
		line = bytes.TrimRight(line, "\r")
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if len(line) > 1024 {
			line = line[:1024]
		}
		lines++
		switch {
		case kernLine.Match(line):
			kern++
		case jobLine.Match(line):
			job++
		}
		if lines >= 500 {
			break
		}
	}
	switch {
	case kern*2 > lines:
		return KindKernlog
	case smiMark.Match(head):
		return KindSMI
	case kern > 0 && kern >= job:
		return KindKernlog
	case job > 0:
		return KindJoblog
	}
	return KindUnknown
}
