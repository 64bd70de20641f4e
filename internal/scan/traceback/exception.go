package traceback

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Frame is one level of a call stack.
type Frame struct {
	File string
	Line string
	Func string
	Code string // source text of the line, where it was printed
}

// At is file:line, "" for no frame.
func (f Frame) At() string {
	if f.File == "" {
		return ""
	}
	return f.File + ":" + f.Line
}

// Exception is one exception that a log shows, perhaps many times.
type Exception struct {
	Type    string // class without its module
	Module  string
	Message string
	User    Frame  // innermost frame of the user's code
	Raised  Frame  // innermost frame of all
	Lib     string // package of the innermost library frame
	Thread  string // where it was not the main one
	Rank    string // where the text names the process (torch.multiprocessing.spawn)

	Fatal     bool // the interpreter died ("Fatal Python error"); Message says of what
	Chained   bool
	Cause     string // class of the exception that led to this one
	LedTo     string // class of the one that this led to
	Ignored   bool   // raised where nobody could catch it, and dropped
	Final     bool   // it ended its program
	Truncated bool   // the log ends inside the traceback
	Wrapped   bool   // a terminal broke the message over lines: Message holds all of it

	Head  Line // where the traceback begins
	At    Line // the line of class and message: the evidence
	Last  Line // the same of the last occurrence
	Count int
	Lines []int // numbers of lines that belong to class and message

	chain []*Exception // with those that led to it or followed from it
}

// Chain are the exceptions that were printed as one, this one among them.
func (e *Exception) Chain() []*Exception {
	if len(e.chain) == 0 {
		return []*Exception{e}
	}
	return append([]*Exception{e}, e.chain...)
}

// Ended reports whether the exception, or one that followed from it, ended its program.
func (e *Exception) Ended() bool {
	for _, c := range e.Chain() {
		if c.Final {
			return true
		}
	}
	return false
}

// holds reports whether a line is one of the exception's own.
func (e *Exception) holds(no int) bool {
	return len(e.Lines) > 0 && e.Lines[len(e.Lines)-1] == no
}

var (
	className = lazyre.New(`^((?:[A-Za-z_]\w*\.|<locals>\.)*)([A-Za-z_]\w*)((?:\([\w., ]{1,80}\))?)(?::(?: (.*))?|)$`)
	sureClass = lazyre.New(`(?:Error|Exception|Warning|Interrupt|Exit|Group|Timeout|Failure|Failed|Iteration|Abort|Aborted|Fault|Refused|NotFound|Killed|Mismatch|OOM)$`)
	camel     = lazyre.New(`^[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+$`)
	plainName = lazyre.New(`^[A-Z][a-z]+$`)
	lowClass  = map[string]bool{"error": true, "timeout": true, "gaierror": true, "herror": true}
	notClass  = map[string]bool{"Epoch": true, "Step": true, "Loss": true, "Iteration": true, "Training": true, "Validation": true,
		"Progress": true, "Loading": true, "Map": true, "Downloading": true, "Note": true, "Process": true, "Rank": true, "Time": true}
)

// parseClass reads the last line of a traceback: "torch.OutOfMemoryError: CUDA out of
// memory". sure is false for names that only their place makes one.
func parseClass(text string) (e Exception, sure, ok bool) {
	if len(text) > 1<<16 {
		text = text[:1<<16]
	}
	head, _, _ := strings.Cut(text, ": ")
	if len(head) > 200 || head == "" || strings.ContainsAny(head[:1], "0123456789 \"'[({<") {
		return e, false, false
	}
	m := className.FindStringSubmatch(text)
	if m == nil {
		return e, false, false
	}
	e.Module, e.Type, e.Message = strings.TrimSuffix(m[1], "."), m[2], strings.TrimSpace(m[4])
	if inner := strings.Trim(m[3], "()"); inner != "" { // RayTaskError(ValueError)
		e.Type += m[3]
	}
	colon := strings.Contains(text, ":")
	switch {
	case sureClass.MatchString(m[2]):
		return e, true, m[2][0] < 'a' || m[1] != "" || colon
	case m[1] != "" && (lowClass[m[2]] || m[2][0] >= 'A' && m[2][0] <= 'Z' && strings.ToUpper(m[2]) != m[2]):
		return e, true, true
	case camel.MatchString(m[2]):
		return e, false, true
	case plainName.MatchString(m[2]):
		return e, false, colon && !notClass[m[2]]
	}
	return e, false, false
}

var (
	frameLine = lazyre.New(`^File "(.+?)", line (\d+)(?:,? in (.+))?$`)
	richFrame = lazyre.New(`^[│|] (?:in )?((?:/|~|[A-Za-z]:\\|\./)?[^│:*?"<>]+\.\w+|<\w+>):(\d+)(?:,? in (\S+))?\s*[│|]?$`)
	richCode  = lazyre.New(`^[│|] [❱>] *\d+ [│|] ?(.*?)\s*[│|]?$`)
	cellFrame = lazyre.New(`^(?:File )?(<ipython-input-[\w-]+>|~?/[^:]+\.\w+|[A-Za-z]:\\[^:]+|Cell In\[\d+\]|\S+\.py)(?::(\d+)|, line (\d+))?(?:,? in (.+))?$`)
	cellArrow = lazyre.New(`^-+> ?(\d+) (.*)$`)
	cellHead  = lazyre.New(`^([A-Za-z_][\w.]*)\s+Traceback \(most recent call last\)$`)
	carets    = lazyre.New(`^[~^]+[~^ ]*$`)
	libDir    = lazyre.New(`[/\\](?:site|dist)-packages[/\\]([^/\\]+)`)
	stdlibDir = lazyre.New(`(?i)[/\\]lib(?:64)?[/\\]python\d[\d.]*[/\\]|[/\\]python\d{2,}[/\\]lib[/\\]|[/\\]lib[/\\](?:threading|runpy|multiprocessing|concurrent|asyncio|contextlib)[/\\.]`)
	launcher  = lazyre.New(`(?i)[/\\](?:bin|scripts)[/\\][\w-]+(?:\.exe[/\\]__main__\.py)?$`)
	checkout  = lazyre.New(`[/\\](torch|torchvision|torchaudio|vllm|sglang|deepspeed|transformers|accelerate|peft|trl|ray|jax|jaxlib|flax|tensorflow|keras|triton|xformers|flash_attn|bitsandbytes|apex|transformer_engine|megatron|nemo|lightning|pytorch_lightning|fairseq|detectron2|mmcv|mmengine|diffusers|datasets|numpy|nccl|tensorrt_llm|cupy|numba|torchtitan|torchtune)[/\\](.*)$`)
	ownPart   = lazyre.New(`(?:^|[/\\])(?:examples?|scripts?|tests?|benchmarks?|tools?|recipes?|projects?|pretrain\w*\.py|finetune\w*\.py)(?:[/\\]|$)`)
	generated = lazyre.New(`^<(?:frozen |attrs |__array_function__|decorator-gen|eval_with_key|torch_package|unknown)`)
)

// origin tells whose code a file is.
type origin uint8

const (
	ofUser origin = iota
	ofFramework
	ofLibrary
)

// fileOrigin tells whose code a frame is in, and the package.
func fileOrigin(f Frame) (origin, string) {
	switch {
	case generated.MatchString(f.File):
		return ofLibrary, ""
	case strings.HasPrefix(f.File, "<"): // python -c, a notebook, generated code
		return ofUser, ""
	}
	if m := libDir.FindStringSubmatch(f.File); m != nil {
		return ofLibrary, strings.TrimSuffix(strings.TrimSuffix(m[1], ".py"), ".egg")
	}
	switch {
	case stdlibDir.MatchString(f.File):
		return ofLibrary, "python"
	case launcher.MatchString(f.File):
		return ofLibrary, ""
	}
	if m := checkout.FindStringSubmatch(f.File); m != nil && !ownPart.MatchString(m[2]) {
		return ofFramework, m[1]
	}
	return ofUser, ""
}

// UserFrame is the user's innermost frame of a stack whose last frame is the
// innermost, the zero Frame when all are of libraries.
func UserFrame(frames []Frame) Frame {
	var e Exception
	e.place(frames)
	return e.User
}

// place finds the frames that matter: the user's innermost and the innermost of all.
func (e *Exception) place(frames []Frame) {
	if len(frames) == 0 {
		return
	}
	e.Raised = frames[len(frames)-1]
	var text, framework Frame
	for i := len(frames) - 1; i >= 0; i-- {
		o, pkg := fileOrigin(frames[i])
		if o != ofUser && e.Lib == "" && pkg != "python" {
			e.Lib = pkg
		}
		switch f := frames[i]; {
		case o == ofUser && strings.HasPrefix(f.File, "<string>") && i > 0:
			if text.File == "" { // generated code has this name too: only for want of better
				text = f
			}
		case o == ofUser:
			if e.User.File == "" {
				e.User = f
			}
		case o == ofFramework && framework.File == "":
			framework = f
		}
	}
	for _, f := range []Frame{text, framework} {
		if e.User.File == "" {
			e.User = f
		}
	}
}
