package decode

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

var (
	rpcRE       = lazyre.New(`(?i)Timeout (?:after (\d+)\s*s of )?waiting for RPC(?: response)? from (?:GPU(\d+) )?GSP(\d+)?`)
	functionRE  = lazyre.New(`Expected function\s+(?:(\d+)(?:\s*\(\s*([A-Za-z]\w*)\s*\)?)?|([A-Za-z]\w*))`)
	rpcDataRE   = lazyre.New(`\(\s*(0x[0-9a-fA-F]+\s+0x[0-9a-fA-F]+)\s*\)`)
	gspTaskRE   = lazyre.New(`(?i)GSP task exception:?\s*(.*?)(?:\s*\(cause\s*:\s*(\S+?)\))?\s*@`)
	pcRE        = lazyre.New(`(?i)\bpc\s*[:=]\s*(0x[0-9a-f]+)`)
	taskRE      = lazyre.New(`(?i)\btask\s*[:=]?\s*(\d+)`)
	gspPartRE   = lazyre.New(`(?i)\bpartition\s*[:=]\s*([\w#]+)`)
	raisedRE    = lazyre.New(`(?i)raised error code (\S+) for reason (\S+) at (\S+)`)
	rmGPURE     = lazyre.New(`\bGPU(\d+)\b`)
	fspStatusRE = lazyre.New(`(?i)Error status\s+(0x[0-9a-f]+)`)
	hexWordsRE  = lazyre.New(`(?i)(?:0x)?[0-9a-f]{8}\b|0x[0-9a-f]+`)
	changedRE   = lazyre.New(`(?i)recovery action changed from\s+(.+?)\s+to\s+(.+?)\s*\.?\s*$`)
	codeNameRE  = lazyre.New(`^(?:(0x[0-9a-fA-F]+|\d+)\b)?\s*(?:\(\s*([^()]*?)\s*\)?)?\s*(.*)$`)
)

// rpcTimeout reads Xid 119 (and 175, which reuses the text).
func (f *fields) rpcTimeout() {
	if m := rpcRE.FindStringSubmatch(f.text); m != nil {
		f.set("timeout_s", plain(m[1]))
		f.set("rm_gpu", plain(m[2]))
		f.set("gsp_instance", plain(m[3]))
	}
	if m := functionRE.FindStringSubmatch(f.text); m != nil {
		f.set("function", plain(m[1]))
		f.set("function_name", m[2]+m[3])
	}
	if m := rpcDataRE.FindStringSubmatch(f.text); m != nil {
		f.set("rpc_data", strings.ToLower(m[1]))
	}
	if strings.Contains(strings.ToLower(f.text), "history") {
		f.set("history", "yes")
	}
}

// gspError reads Xid 120.
func (f *fields) gspError() {
	low := strings.ToLower(f.text)
	switch m := gspTaskRE.FindStringSubmatch(f.text); {
	case m != nil:
		f.set("detail", "task_exception")
		f.set("exception", token(m[1]))
		f.set("cause", strings.ToLower(m[2]))
	case strings.Contains(low, "crash"):
		f.set("detail", "crash")
	case strings.Contains(low, "init"):
		f.set("detail", "init_failed")
	case raisedRE.MatchString(f.text):
		m := raisedRE.FindStringSubmatch(f.text)
		f.set("detail", "task_error")
		f.set("error_code", strings.ToLower(m[1]))
		f.set("reason", strings.ToLower(m[2]))
		f.set("pc", strings.ToLower(m[3]))
	}
	for name, re := range map[string]*lazyre.Regexp{"pc": pcRE, "task": taskRE, "partition": gspPartRE, "rm_gpu": rmGPURE} {
		if m := re.FindStringSubmatch(f.text); m != nil {
			f.set(name, strings.ToLower(m[1]))
		}
	}
}

// fspBoot reads Xid 143: a status word and the registers after it.
func (f *fields) fspBoot() {
	if m := fspStatusRE.FindStringSubmatch(f.text); m != nil {
		f.set("status", strings.ToLower(m[1]))
	}
	f.words("status_words")
}

// words keeps the hex words of a text that only the vendor can read.
func (f *fields) words(name string) {
	f.set(name, strings.ToLower(strings.Join(hexWordsRE.FindAllString(f.text, -1), " ")))
}

// recovery reads Xid 154, the driver's own verdict. Number and name may each be
// missing; when they disagree the name is what a person was meant to read.
func (d *Decoder) recovery(f *fields) {
	m := changedRE.FindStringSubmatch(causedByRE.ReplaceAllString(f.text, ""))
	if m == nil {
		return
	}
	if from, code := d.recoveryOf(m[1]); from != "" {
		f.set("recovery_from", from)
		f.set("from", code)
	}
	to, code := d.recoveryOf(m[2])
	if to == "" {
		f.set("to", code)
		f.set("recovery", "unknown")
		return
	}
	r, _ := d.tables.RecoveryNamed(to)
	f.set("recovery", to)
	f.set("to", code)
	f.set("action", r.Action)
	if to == "none" {
		f.sig.Level = 0 // the driver says that nothing is left to do: a fact
	}
}

// recoveryOf reads "0x4 (Drain and Reset)", "4", "Drain and Reset".
func (d *Decoder) recoveryOf(s string) (recovery, code string) {
	m := codeNameRE.FindStringSubmatch(strings.TrimRight(strings.TrimSpace(s), ",; "))
	if m == nil {
		return "", ""
	}
	code = strings.TrimPrefix(strings.ToLower(m[1]), "0x")
	for _, name := range []string{m[2], m[3]} {
		if r, ok := d.tables.RecoveryNamed(name); ok && name != "" {
			return r.Token, strconv.Itoa(r.Code)
		}
	}
	// A number alone, or with a name that is new to us or cut short.
	if n, ok := word32(code); ok && code != "" {
		if r, ok := d.tables.Recovery(int(n)); ok {
			return r.Token, strconv.Itoa(r.Code)
		}
	}
	return "", plain(code)
}
