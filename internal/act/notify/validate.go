package notify

import (
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/gpumedic/gpumedic/internal/lang"
)

// Problem is something wrong in a configuration.
type Problem struct {
	Line  int    // in the file that the section was read from; 0 when it was not
	Field string // path within the section
	Msg   string
}

func (p Problem) Error() string {
	if p.Line > 0 {
		return fmt.Sprintf("line %d: %s: %s", p.Line, p.Field, p.Msg)
	}
	return p.Field + ": " + p.Msg
}

// Problems are all that is wrong.
type Problems []Problem

func (p Problems) Error() string {
	out := make([]string, len(p))
	for i := range p {
		out[i] = p[i].Error()
	}
	return strings.Join(out, "\n")
}

// Validate reports everything that is wrong, with lines where they are known. It reads
// no secret: whether a file can be read is only known where the daemon runs.
func (c *Config) Validate() error {
	v := &validator{root: c.node}
	if c.Language != "" && !lang.Known(c.Language) {
		v.bad("language", "unknown language %q (known: en, zh)", c.Language)
	}
	if c.OnExpiry != "" && c.OnExpiry != "send" && c.OnExpiry != "drop" {
		v.bad("on_expiry", "%q is neither send nor drop", c.OnExpiry)
	}
	v.positive("expire_after", c.ExpireAfter)
	v.positive("keep", c.Keep)
	if c.QueueLimit < 0 {
		v.bad("queue_limit", "must not be negative")
	}
	seen := map[string]bool{}
	for i := range c.Channels {
		ch := &c.Channels[i]
		v.prefix = fmt.Sprintf("channels[%d]", i)
		switch {
		case ch.Name == "":
			v.bad("name", "is missing: deliveries are remembered by it")
		case len(ch.Name) > 64 || strings.Trim(ch.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "":
			v.bad("name", "%q: use letters, digits, dot, dash and underscore, at most 64", ch.Name)
		case seen[ch.Name]:
			v.bad("name", "%q is the name of an earlier channel", ch.Name)
		}
		seen[ch.Name] = true
		v.channel(ch)
	}
	if len(v.out) > 0 {
		return v.out
	}
	return nil
}

type validator struct {
	root   *yaml.Node
	prefix string
	out    Problems
}

func (v *validator) bad(field, format string, args ...any) {
	if v.prefix != "" {
		field = v.prefix + "." + field
	}
	v.out = append(v.out, Problem{Line: lineOf(v.root, field), Field: field, Msg: fmt.Sprintf(format, args...)})
}

func (v *validator) positive(field string, d time.Duration) {
	if d < 0 {
		v.bad(field, "must not be negative")
	}
}

func (v *validator) channel(ch *Channel) {
	spec, ok := specs[ch.Type]
	if !ok {
		v.bad("type", "unknown type %q (known: %s)", ch.Type, strings.Join(types, ", "))
		return
	}
	if ch.Language != "" && !lang.Known(ch.Language) {
		v.bad("language", "unknown language %q (known: en, zh)", ch.Language)
	}
	v.allowed(ch, spec)
	v.address(ch, spec)
	for _, p := range ch.pairs() {
		if p.file != "" && p.env != "" {
			v.bad(p.name+"_env", "set either %s_file or %s_env", p.name, p.name)
		}
		if p.file != "" && !filepath.IsAbs(p.file) {
			v.bad(p.name+"_file", "%q is not an absolute path", p.file)
		}
		if strings.ContainsAny(p.env, "= \t") {
			v.bad(p.name+"_env", "is not the name of an environment variable")
		}
	}
	if (ch.TLS.CertFile == "") != (ch.TLS.KeyFile == "") {
		v.bad("tls", "cert_file and key_file belong together")
	}
	v.positive("timeout", ch.Timeout)
	if ch.Resend != 0 && ch.Resend < time.Second {
		v.bad("resend", "must be at least 1s")
	}
	v.positive("group.window", ch.Group.Window)
	if ch.Group.Max < 0 {
		v.bad("group.max", "must not be negative")
	}
	for i := range ch.Match {
		v.match(fmt.Sprintf("match[%d]", i), &ch.Match[i])
	}
	if ch.Quiet != nil {
		v.quiet(ch.Quiet)
	}
	switch ch.Type {
	case "email":
		v.email(ch)
	case "exec":
		v.exec(ch)
	case "alertmanager":
		for name := range ch.Labels {
			if !labelName(name) {
				v.bad("labels", "%q is not a label name", name)
			}
		}
	}
}

// allowed refuses fields that the type would ignore: a setting without effect is a
// mistake that nobody sees.
func (v *validator) allowed(ch *Channel, spec spec) {
	for field, set := range map[string]bool{
		"url": ch.URL != "", "url_file": ch.URLFile != "", "url_env": ch.URLEnv != "",
		"token_file": ch.TokenFile != "", "token_env": ch.TokenEnv != "",
		"secret_file": ch.SecretFile != "", "secret_env": ch.SecretEnv != "",
		"username": ch.Username != "", "password_file": ch.PasswordFile != "", "password_env": ch.PasswordEnv != "",
		"labels": len(ch.Labels) > 0, "resend": ch.Resend != 0, "smtp": ch.SMTP != "", "security": ch.Security != "",
		"from": ch.From != "", "to": len(ch.To) > 0, "command": len(ch.Command) > 0, "environment": len(ch.Environment) > 0,
		"tls": !ch.TLS.IsZero(), "allow_http": ch.AllowHTTP, "group": !ch.Group.IsZero() && ch.Type == "alertmanager",
	} {
		name := strings.TrimSuffix(strings.TrimSuffix(field, "_file"), "_env")
		if !set || slices.Contains(spec.fields, name) {
			continue
		}
		switch {
		case field == "url" && slices.Contains(spec.fields, "secret url"):
			v.bad(field, "the address of a %s robot is a secret: use url_file or url_env", ch.Type)
		case slices.Contains(spec.fields, "secret "+name) && field != name:
		default:
			v.bad(field, "has no meaning for %s", ch.Type)
		}
	}
	slices.SortFunc(v.out, func(a, b Problem) int { return a.Line - b.Line })
}

func (v *validator) address(ch *Channel, spec spec) {
	needs := slices.Contains(spec.fields, "url") || slices.Contains(spec.fields, "secret url")
	n := len(present(ch.URL, ch.URLFile, ch.URLEnv))
	switch {
	case needs && n == 0:
		v.bad("type", "%s needs an address: url_file or url_env%s", ch.Type, orURL(spec))
	case n > 1:
		v.bad("name", "set one of url, url_file, url_env")
	}
	if ch.URL == "" {
		return
	}
	u, err := url.Parse(ch.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		v.bad("url", "is not an http or https address")
	case u.User != nil:
		v.bad("url", "holds a password: use url_file or url_env, or username and password_file")
	case u.RawQuery != "":
		v.bad("url", "holds a query, which may be a secret: use url_file or url_env")
	}
}

func orURL(s spec) string {
	if slices.Contains(s.fields, "url") {
		return ", or url when it holds no secret"
	}
	return ""
}

func (v *validator) match(at string, m *Match) {
	if m.MinSeverity != "" && severityRank(m.MinSeverity) == 0 {
		v.bad(at+".min_severity", "unknown severity %q (known: %s)", m.MinSeverity, strings.Join(severities, ", "))
	}
	for _, k := range m.Kind {
		if !known(kinds, Kind(k)) {
			v.bad(at+".kind", "unknown kind %q (known: opened, escalated, reopened, acknowledged, closed)", k)
		}
	}
	for _, p := range slices.Concat(m.Fault, m.Class, m.Node) {
		if _, err := path.Match(p, ""); err != nil {
			v.bad(at, "%q is not a pattern: %v", p, err)
		}
	}
}

func (v *validator) quiet(q *Quiet) {
	if _, err := q.compile(); err != nil {
		v.bad("quiet", "%v", err)
	}
	if q.Except != "" && severityRank(q.Except) == 0 {
		v.bad("quiet.except", "unknown severity %q (known: %s)", q.Except, strings.Join(severities, ", "))
	}
}

func (v *validator) email(ch *Channel) {
	host, port, err := net.SplitHostPort(ch.SMTP)
	if err != nil || host == "" || port == "" {
		v.bad("smtp", "%q is not host:port", ch.SMTP)
	}
	switch ch.Security {
	case "", "starttls", "tls":
	case "none":
		if ch.Username != "" && !loopback(host) && !ch.AllowHTTP {
			v.bad("security", "none would send the password without TLS")
		}
	default:
		v.bad("security", "%q is none of starttls, tls, none", ch.Security)
	}
	if _, err := mail.ParseAddress(ch.From); err != nil {
		v.bad("from", "%q is not an address", ch.From)
	}
	if len(ch.To) == 0 {
		v.bad("to", "is missing")
	}
	for _, a := range ch.To {
		if _, err := mail.ParseAddress(a); err != nil {
			v.bad("to", "%q is not an address", a)
		}
	}
	if (ch.Username == "") != (ch.PasswordFile == "" && ch.PasswordEnv == "") {
		v.bad("username", "username and password_file (or password_env) belong together")
	}
}

func (v *validator) exec(ch *Channel) {
	switch {
	case len(ch.Command) == 0:
		v.bad("command", "is missing")
	case !filepath.IsAbs(ch.Command[0]):
		v.bad("command", "%q is not an absolute path", ch.Command[0])
	}
	for _, name := range ch.Environment {
		if name == "" || strings.ContainsAny(name, "= \t") {
			v.bad("environment", "%q is not the name of a variable", name)
		}
	}
}

// lineOf finds the line of a field by its path ("channels[2].quiet.from"), or of the
// nearest thing around it that exists.
func lineOf(n *yaml.Node, field string) int {
	if n == nil {
		return 0
	}
	at := n.Line
	for _, part := range strings.Split(field, ".") {
		name, index, _ := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		key, val := child(n, name)
		if val == nil {
			return at
		}
		n, at = val, key.Line
		if index == "" {
			continue
		}
		i := 0
		if _, err := fmt.Sscanf(index, "%d", &i); err != nil || n.Kind != yaml.SequenceNode || i >= len(n.Content) {
			return at
		}
		n = n.Content[i]
		at = n.Line
	}
	return at
}

func child(n *yaml.Node, name string) (key, val *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}
