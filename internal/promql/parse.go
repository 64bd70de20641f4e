package promql

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Expr is an expression that was read.
type Expr interface {
	eval(c *context) (value, error)
	walk(f func(*Selector))
}

type number float64

// Selector chooses series of one metric: their last sample, or those of a span.
type Selector struct {
	Name     string
	Matchers []Matcher
	Range    time.Duration // 0: the last sample
	Offset   time.Duration
}

// Matcher is a condition on a label.
type Matcher struct {
	Name, Op, Value string
	re              *regexp.Regexp
}

// Matches reports whether a label's value fits.
func (m *Matcher) Matches(v string) bool {
	switch m.Op {
	case "=":
		return v == m.Value
	case "!=":
		return v != m.Value
	case "=~":
		return m.re.MatchString(v)
	}
	return !m.re.MatchString(v)
}

type call struct {
	name string
	f    function
	args []Expr
}

type aggregate struct {
	op string
	by []string
	of Expr
}

type binary struct {
	op          string
	left, right Expr
	on          bool // else ignoring
	labels      []string
	many        bool // group_left: several of the left side have one partner
}

type negative struct{ of Expr }

// Parse reads an expression; what it does not know is an error.
func Parse(s string) (e Expr, err error) {
	tokens, err := lex(s)
	if err != nil {
		return nil, fmt.Errorf("read expression: %w", err)
	}
	p := &parser{tokens: tokens}
	e, err = p.expr(0)
	if err == nil && p.peek().kind != tokEnd {
		err = p.wrong("an operator")
	}
	if err == nil && scalarRange(e) {
		err = fmt.Errorf("a range is no answer by itself")
	}
	if err != nil {
		return nil, fmt.Errorf("read expression: %w", err)
	}
	return e, nil
}

type parser struct {
	tokens []token
	next   int
	depth  int
}

// maxDepth bounds recursion: rules are written by people.
const maxDepth = 100

func (p *parser) peek() token { return p.tokens[p.next] }

func (p *parser) take() token {
	t := p.tokens[p.next]
	if t.kind != tokEnd {
		p.next++
	}
	return t
}

func (p *parser) is(text string) bool {
	t := p.peek()
	return t.text == text && (t.kind == tokSign || t.kind == tokName)
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.next++
		return true
	}
	return false
}

func (p *parser) want(text string) error {
	if !p.accept(text) {
		return p.wrong(strconv.Quote(text))
	}
	return nil
}

func (p *parser) wrong(want string) error {
	t := p.peek()
	if t.kind == tokEnd {
		return fmt.Errorf("it ends, want %s", want)
	}
	return fmt.Errorf("byte %d: %q, want %s", t.at, t.text, want)
}

// precedence of operators; all bind to the left.
var precedence = map[string]int{
	"or": 1, "and": 2, "unless": 2,
	"==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3,
	"+": 4, "-": 4, "*": 5, "/": 5,
}

func isSet(op string) bool     { return op == "or" || op == "and" || op == "unless" }
func isCompare(op string) bool { return precedence[op] == 3 }

// expr reads operators that bind more than least.
func (p *parser) expr(least int) (Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("brackets are nested too deep")
	}
	defer func() { p.depth-- }()
	left, err := p.operand()
	for err == nil {
		op := p.peek()
		rank := precedence[op.text]
		if rank <= least || op.kind != tokSign && op.kind != tokName {
			return left, nil
		}
		p.next++
		b := &binary{op: op.text, left: left}
		if err = p.matching(b); err != nil {
			break
		}
		if b.right, err = p.expr(rank); err != nil {
			break
		}
		if scalarRange(b.left) || scalarRange(b.right) {
			return nil, fmt.Errorf("byte %d: a range beside %s", op.at, op.text)
		}
		left = b
	}
	return nil, err
}

// matching reads on, ignoring and group_left.
func (p *parser) matching(b *binary) (err error) {
	switch {
	case p.accept("on"):
		b.on = true
	case p.accept("ignoring"):
	default:
		return nil
	}
	if b.labels, err = p.names(); err != nil || !p.accept("group_left") {
		return err
	}
	b.many = true
	if isSet(b.op) {
		return fmt.Errorf("group_left beside %s", b.op)
	}
	if !p.is("(") {
		return nil
	}
	extra, err := p.names()
	if err == nil && len(extra) > 0 {
		err = fmt.Errorf("labels in group_left are not supported")
	}
	return err
}

// names reads labels in brackets.
func (p *parser) names() ([]string, error) {
	if err := p.want("("); err != nil {
		return nil, err
	}
	out := []string{}
	for !p.accept(")") {
		if p.peek().kind != tokName {
			return nil, p.wrong("a label")
		}
		out = append(out, p.take().text)
		if !p.accept(",") && !p.is(")") {
			return nil, p.wrong(`"," or ")"`)
		}
	}
	return out, nil
}

func (p *parser) operand() (Expr, error) {
	t := p.peek()
	switch {
	case t.kind == tokNumber:
		p.next++
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil || math.IsInf(v, 0) {
			return nil, fmt.Errorf("byte %d: %q is no number", t.at, t.text)
		}
		return number(v), nil
	case p.accept("("):
		e, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		return e, p.want(")")
	case p.accept("-"):
		e, err := p.expr(precedence["*"])
		if err != nil {
			return nil, err
		}
		if scalarRange(e) {
			return nil, fmt.Errorf("byte %d: the negative of a range", t.at)
		}
		return &negative{e}, nil
	case t.kind != tokName || precedence[t.text] > 0:
		return nil, p.wrong("a metric, a function or a number")
	}
	p.next++
	if _, known := aggregations[t.text]; known && (p.is("by") || p.is("(")) {
		return p.aggregate(t.text)
	}
	if p.is("(") {
		return p.call(t)
	}
	return p.selector(t.text)
}

func (p *parser) aggregate(op string) (Expr, error) {
	a := &aggregate{op: op}
	var err error
	if p.accept("by") {
		if a.by, err = p.names(); err != nil {
			return nil, err
		}
	}
	if err = p.want("("); err != nil {
		return nil, err
	}
	if a.of, err = p.expr(0); err != nil {
		return nil, err
	}
	if scalarRange(a.of) {
		return nil, fmt.Errorf("%s of a range", op)
	}
	return a, p.want(")")
}

func (p *parser) call(t token) (Expr, error) {
	f, known := functions[t.text]
	if !known {
		return nil, fmt.Errorf("byte %d: function %s is not supported", t.at, t.text)
	}
	c := &call{name: t.text, f: f}
	p.next++ // the bracket
	for !p.accept(")") {
		e, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, e)
		if !p.accept(",") && !p.is(")") {
			return nil, p.wrong(`"," or ")"`)
		}
	}
	if len(c.args) != f.args || f.args == 1 && scalarRange(c.args[0]) != f.ranged {
		return nil, fmt.Errorf("byte %d: the arguments of %s do not fit", t.at, t.text)
	}
	return c, nil
}

// scalarRange reports whether an expression is a selector of a span.
func scalarRange(e Expr) bool {
	s, ok := e.(*Selector)
	return ok && s.Range > 0
}

func (p *parser) selector(name string) (Expr, error) {
	s := &Selector{Name: name}
	if p.accept("{") {
		for !p.accept("}") {
			m, err := p.matcher()
			if err != nil {
				return nil, err
			}
			s.Matchers = append(s.Matchers, m)
			if !p.accept(",") && !p.is("}") {
				return nil, p.wrong(`"," or "}"`)
			}
		}
	}
	var err error
	if p.accept("[") {
		if s.Range, err = p.duration(); err != nil {
			return nil, err
		}
		if err := p.want("]"); err != nil {
			return nil, err
		}
	}
	if p.accept("offset") {
		s.Offset, err = p.duration()
	}
	return s, err
}

func (p *parser) duration() (time.Duration, error) {
	if p.peek().kind != tokDuration {
		return 0, p.wrong("a duration")
	}
	d, err := ParseDuration(p.take().text)
	if err == nil && d <= 0 {
		err = fmt.Errorf("a duration of nothing")
	}
	return d, err
}

func (p *parser) matcher() (Matcher, error) {
	m := Matcher{}
	if p.peek().kind != tokName {
		return m, p.wrong("a label")
	}
	m.Name = p.take().text
	if m.Op = p.peek().text; p.peek().kind != tokSign || !slices.Contains([]string{"=", "!=", "=~", "!~"}, m.Op) {
		return m, p.wrong("=, !=, =~ or !~")
	}
	p.next++
	if p.peek().kind != tokString {
		return m, p.wrong("a string")
	}
	m.Value = p.take().text
	if m.Op != "=~" && m.Op != "!~" {
		return m, nil
	}
	var err error
	m.re, err = regexp.Compile("^(?s:" + m.Value + ")$")
	return m, err
}

// Selectors are the selectors of an expression.
func Selectors(e Expr) []*Selector {
	var out []*Selector
	e.walk(func(s *Selector) { out = append(out, s) })
	return out
}

func (number) walk(func(*Selector))         {}
func (s *Selector) walk(f func(*Selector))  { f(s) }
func (n *negative) walk(f func(*Selector))  { n.of.walk(f) }
func (a *aggregate) walk(f func(*Selector)) { a.of.walk(f) }
func (b *binary) walk(f func(*Selector)) {
	b.left.walk(f)
	b.right.walk(f)
}
func (c *call) walk(f func(*Selector)) {
	for _, a := range c.args {
		a.walk(f)
	}
}
