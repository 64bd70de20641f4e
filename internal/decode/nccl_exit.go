package decode

import (
	"strconv"
	"strings"
)

// signalNames are the signals by which processes of a job end.
var signalNames = map[int]string{
	1: "sighup", 2: "sigint", 3: "sigquit", 4: "sigill", 5: "sigtrap", 6: "sigabrt", 7: "sigbus", 8: "sigfpe", 9: "sigkill",
	10: "sigusr1", 11: "sigsegv", 12: "sigusr2", 13: "sigpipe", 14: "sigalrm", 15: "sigterm", 24: "sigxcpu", 25: "sigxfsz", 31: "sigsys",
}

// signalWords are a shell's or launcher's words for them.
var signalWords = []struct{ words, name string }{
	{"segmentation fault", "sigsegv"},
	{"bus error", "sigbus"},
	{"aborted", "sigabrt"},
	{"abort", "sigabrt"},
	{"illegal instruction", "sigill"},
	{"floating point exception", "sigfpe"},
	{"breakpoint trap", "sigtrap"},
	{"bad system call", "sigsys"},
	{"broken pipe", "sigpipe"},
	{"alarm clock", "sigalrm"},
	{"killed", "sigkill"},
	{"terminated", "sigterm"},
	{"interrupt", "sigint"},
	{"hangup", "sighup"},
	{"user defined signal 1", "sigusr1"},
	{"user defined signal 2", "sigusr2"},
	{"cpu time limit", "sigxcpu"},
}

// exit says which signal ended a process: from an exit code (-9, 137), the number of a
// signal, its name or a shell's word.
func (d *Decoder) exit(f *fields) {
	for _, name := range []string{"exitcode", "code"} {
		if v := f.get(name); v != "" {
			f.set("signal", signalOfCode(v))
		}
	}
	if n, ok := atoi(f.get("signum")); ok {
		f.set("signal", signalNames[n])
	}
	if w := strings.ToLower(f.get("word")); w != "" {
		f.set("signal", signalOfWord(w))
	}
	switch s := f.get("signal"); {
	case s == "":
		f.set("how", "exit")
	case s == "sigkill" || s == "sigterm" || s == "sigint" || s == "sighup":
		f.set("how", "killed")
	default:
		f.set("how", "crash")
	}
}

// signalOfCode knows Python's negative codes and a shell's 128+n.
func signalOfCode(code string) string {
	n, err := strconv.Atoi(code)
	switch {
	case err != nil:
		return ""
	case n < 0 && n > -65:
		return signalNames[-n]
	case n > 128 && n < 193:
		return signalNames[n-128]
	}
	return ""
}

func signalOfWord(w string) string {
	if n := strings.TrimPrefix(w, "sig"); n != w {
		for _, name := range signalNames {
			if name == w {
				return name
			}
		}
	}
	for _, s := range signalWords {
		if strings.Contains(w, s.words) {
			return s.name
		}
	}
	return ""
}
