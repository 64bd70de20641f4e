package notify

import (
	"net/url"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Config is the section `notifications` of the daemon's configuration file. It holds
// where secrets are, never a secret.
type Config struct {
	// Language of the texts, en or zh; a channel may have its own.
	Language string `yaml:"language,omitempty"`
	// ExpireAfter is the age at which a notice counts as late; default 24h.
	ExpireAfter time.Duration `yaml:"expire_after,omitempty"`
	// OnExpiry is what happens to a late notice: send (with a mark, the default) or drop.
	OnExpiry string `yaml:"on_expiry,omitempty"`
	// QueueLimit bounds the waiting notices of a channel; default 10000. Beyond it the
	// oldest is dropped, counted and logged.
	QueueLimit int `yaml:"queue_limit,omitempty"`
	// Keep is how long delivered notices stay in the database; default 168h.
	Keep     time.Duration `yaml:"keep,omitempty"`
	Channels []Channel     `yaml:"channels,omitempty"`

	node *yaml.Node // where the section stands in its file, for errors
}

// Channel is one place to tell.
type Channel struct {
	Name     string `yaml:"name"`
	Type     string `yaml:"type"` // alertmanager, webhook, slack, feishu, dingtalk, wecom, email, exec
	Language string `yaml:"language,omitempty"`

	// URL is for addresses without a secret in them. Webhook addresses of chat services
	// are secrets as a whole: url_file or url_env.
	URL     string `yaml:"url,omitempty"`
	URLFile string `yaml:"url_file,omitempty"`
	URLEnv  string `yaml:"url_env,omitempty"`
	// Token is sent as a bearer token (webhook, alertmanager).
	TokenFile string `yaml:"token_file,omitempty"`
	TokenEnv  string `yaml:"token_env,omitempty"`
	// Secret signs: HMAC of a webhook, or the signature of Feishu and DingTalk.
	SecretFile string `yaml:"secret_file,omitempty"`
	SecretEnv  string `yaml:"secret_env,omitempty"`
	// Username and password are for basic authentication and for e-mail.
	Username     string `yaml:"username,omitempty"`
	PasswordFile string `yaml:"password_file,omitempty"`
	PasswordEnv  string `yaml:"password_env,omitempty"`
	// AllowHTTP permits sending a secret without TLS to another machine.
	AllowHTTP bool          `yaml:"allow_http,omitempty"`
	TLS       TLS           `yaml:"tls,omitempty"`
	Timeout   time.Duration `yaml:"timeout,omitempty"` // of one attempt; default 10s

	// Match says what the channel is told: all of a rule must fit, one rule is enough, no
	// rule means everything.
	Match []Match `yaml:"match,omitempty"`
	Group Group   `yaml:"group,omitempty"`
	Quiet *Quiet  `yaml:"quiet,omitempty"`

	Labels map[string]string `yaml:"labels,omitempty"` // alertmanager: added to each alert
	Resend time.Duration     `yaml:"resend,omitempty"` // alertmanager: default 1m

	SMTP     string   `yaml:"smtp,omitempty"`     // email: host:port
	Security string   `yaml:"security,omitempty"` // email: starttls (default), tls, none
	From     string   `yaml:"from,omitempty"`
	To       []string `yaml:"to,omitempty"`

	Command     []string `yaml:"command,omitempty"`     // exec: program and arguments, no shell
	Environment []string `yaml:"environment,omitempty"` // exec: names of variables passed on
}

// TLS is how a receiver is recognised, where the system's authorities do not do.
type TLS struct {
	CAFile     string `yaml:"ca_file,omitempty"`
	CertFile   string `yaml:"cert_file,omitempty"`
	KeyFile    string `yaml:"key_file,omitempty"`
	ServerName string `yaml:"server_name,omitempty"`
}

// IsZero leaves an empty section out of a printed configuration.
func (t TLS) IsZero() bool { return t == TLS{} }

// Match is a rule of routing. Lists are alternatives; `*` in a pattern stands for
// anything.
type Match struct {
	MinSeverity string   `yaml:"min_severity,omitempty"`
	Fault       []string `yaml:"fault,omitempty"`
	Class       []string `yaml:"class,omitempty"`
	Node        []string `yaml:"node,omitempty"`
	Kind        []string `yaml:"kind,omitempty"`
}

// Group gathers notices into one message.
type Group struct {
	// Window is how long notices are gathered from the first one; 0 sends each at once.
	Window time.Duration `yaml:"window,omitempty"`
	// Max closes a group early; default 100.
	Max int `yaml:"max,omitempty"`
	// FirstAtOnce sends the first notice after a calm window without waiting; only what
	// follows is gathered.
	FirstAtOnce bool `yaml:"first_at_once,omitempty"`
}

// IsZero leaves an empty section out of a printed configuration.
func (g Group) IsZero() bool { return g == Group{} }

// Quiet holds notices back at certain hours; they are told together afterwards.
type Quiet struct {
	From string   `yaml:"from"` // 22:00
	To   string   `yaml:"to"`   // 07:00, of the next day when before From
	Zone string   `yaml:"zone,omitempty"`
	Days []string `yaml:"days,omitempty"` // on which it begins: mon … sun; default all
	// Except is the severity from which notices pass nevertheless; default critical.
	Except string `yaml:"except,omitempty"`
}

// UnmarshalYAML keeps the places of the fields and refuses unknown ones, also when the
// section is part of a larger file.
func (c *Config) UnmarshalYAML(n *yaml.Node) error {
	type plain Config
	if err := n.Load((*plain)(c), yaml.WithKnownFields()); err != nil {
		return err
	}
	c.node = n
	return nil
}

// Masked is the configuration as it may be shown: nothing in it should be a secret, and
// what could be one all the same is hidden.
func (c *Config) Masked() Config {
	out := *c
	out.node = nil
	out.Channels = append([]Channel(nil), c.Channels...)
	for i := range out.Channels {
		ch := &out.Channels[i]
		ch.URL = maskURL(ch.URL)
		ch.Command = append([]string(nil), ch.Command...)
		for j, arg := range ch.Command {
			ch.Command[j] = maskArg(arg)
		}
	}
	return out
}

const masked = "***"

func maskURL(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil {
		return masked
	}
	if u.User != nil {
		u.User = url.User(masked)
	}
	if u.RawQuery != "" {
		u.RawQuery = masked
	}
	u.Fragment = ""
	return strings.ReplaceAll(u.String(), "%2A%2A%2A", masked)
}

// maskArg hides what looks like a secret handed over as an argument.
func maskArg(arg string) string {
	name, _, ok := strings.Cut(arg, "=")
	low := strings.ToLower(name)
	for _, w := range []string{"token", "secret", "password", "passwd", "key", "authorization"} {
		if ok && strings.Contains(low, w) {
			return name + "=" + masked
		}
	}
	if strings.Contains(arg, "://") {
		return maskURL(arg)
	}
	return arg
}

// Defaults.
const (
	defaultExpire  = 24 * time.Hour
	defaultQueue   = 10000
	defaultKeep    = 7 * 24 * time.Hour
	defaultTimeout = 10 * time.Second
	defaultGroup   = 100
	defaultResend  = time.Minute
)

// withDefaults is a copy with every field set.
func (c *Config) withDefaults() Config {
	out := *c
	set(&out.Language, "en")
	set(&out.ExpireAfter, defaultExpire)
	set(&out.OnExpiry, "send")
	set(&out.QueueLimit, defaultQueue)
	set(&out.Keep, defaultKeep)
	out.Channels = append([]Channel(nil), c.Channels...)
	for i := range out.Channels {
		ch := &out.Channels[i]
		set(&ch.Language, out.Language)
		set(&ch.Timeout, defaultTimeout)
		set(&ch.Group.Max, defaultGroup)
		set(&ch.Resend, defaultResend)
		if ch.Type == "email" {
			set(&ch.Security, "starttls")
		}
	}
	return out
}

func set[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}
