package notify

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"sort"
	"strings"
)

// pair is a secret's two possible places.
type pair struct{ name, file, env string }

func (ch *Channel) pairs() []pair {
	return []pair{
		{"url", ch.URLFile, ch.URLEnv},
		{"token", ch.TokenFile, ch.TokenEnv},
		{"secret", ch.SecretFile, ch.SecretEnv},
		{"password", ch.PasswordFile, ch.PasswordEnv},
	}
}

// secrets are those of one channel, read for one message, so that a rotated file counts
// at once.
type secrets struct {
	url, token, secret, password string
	scrub                        scrubber
}

const maxSecret = 64 << 10

func (ch *Channel) secrets() (*secrets, error) {
	s := &secrets{}
	for i, p := range ch.pairs() {
		v, err := p.read()
		if err != nil {
			return nil, err
		}
		*[]*string{&s.url, &s.token, &s.secret, &s.password}[i] = v
		s.scrub.hide(v)
	}
	if ch.Username != "" && s.password != "" {
		s.scrub.hide(base64.StdEncoding.EncodeToString([]byte(ch.Username + ":" + s.password)))
		s.scrub.hide(base64.StdEncoding.EncodeToString([]byte("\x00" + ch.Username + "\x00" + s.password)))
	}
	s.scrub.hideURL(s.url)
	if s.url == "" {
		s.url = ch.URL
	}
	return s, nil
}

// read returns "" when neither place is set. Errors name the place and never the value.
func (p pair) read() (string, error) {
	var v string
	switch {
	case p.file != "":
		f, err := os.Open(p.file)
		if err != nil {
			return "", failf(misconfigured, "read %s_file: %v", p.name, err)
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
		if err != nil {
			return "", failf(misconfigured, "read %s_file: %v", p.name, err)
		}
		if len(b) > maxSecret {
			return "", failf(misconfigured, "read %s_file %s: more than %d bytes", p.name, p.file, maxSecret)
		}
		v = string(b)
	case p.env != "":
		v = os.Getenv(p.env)
	default:
		return "", nil
	}
	v = strings.TrimSpace(v)
	place := p.file
	if place == "" {
		place = "environment variable " + p.env
	}
	if v == "" {
		return "", failf(misconfigured, "read %s: %s is empty", p.name, place)
	}
	if strings.ContainsAny(v, "\r\n\x00") {
		return "", failf(misconfigured, "read %s: %s has more than one line", p.name, place)
	}
	return v, nil
}

// scrubber takes known secrets out of a text before anybody sees it.
type scrubber struct{ hidden []string }

func (s *scrubber) hide(v string) {
	if v == "" {
		return
	}
	s.hidden = append(s.hidden, v, url.QueryEscape(v), url.PathEscape(v), base64.StdEncoding.EncodeToString([]byte(v)))
	// The longest first: a part must not be replaced before the whole is.
	sort.Slice(s.hidden, func(i, j int) bool { return len(s.hidden[i]) > len(s.hidden[j]) })
}

// hideURL hides the parts of a secret address that name what only its owner should know:
// long path elements and the values of the query. The host is no secret.
func (s *scrubber) hideURL(v string) {
	u, err := url.Parse(v)
	if v == "" || err != nil {
		return
	}
	for _, part := range strings.Split(u.EscapedPath(), "/") {
		if len(part) >= 8 {
			s.hide(part)
		}
	}
	for _, values := range u.Query() {
		for _, q := range values {
			s.hide(q)
		}
	}
	if p, ok := u.User.Password(); ok {
		s.hide(p)
	}
}

func (s *scrubber) clean(text string) string {
	for _, h := range s.hidden {
		text = strings.ReplaceAll(text, h, masked)
	}
	return text
}

// cleanErr is err as a failure without secrets.
func (s *scrubber) cleanErr(err error) error {
	if err == nil {
		return nil
	}
	f := *asFailure(err)
	f.msg = s.clean(f.msg)
	return &f
}

// bare takes the address out of an error of net/http: it is a secret for most channels.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		if u.Timeout() {
			return fmt.Errorf("timeout: %w", u.Err)
		}
		return u.Err
	}
	return err
}
