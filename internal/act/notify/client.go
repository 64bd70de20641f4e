package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// client posts for one channel. Retries are not here but in the outbox, which survives a
// restart; the client makes one attempt and says what its outcome means.
type client struct {
	ch  *Channel
	now func() time.Time

	mu   sync.Mutex
	http *http.Client // built at first use: a bad CA file must not stop the daemon
}

// answer is a response with status 2xx.
type answer struct {
	header http.Header
	body   []byte
}

const maxAnswer = 64 << 10

// post sends a JSON body to address. Whatever is not 2xx is a failure, and the answer is
// given with it.
func (c *client) post(ctx context.Context, s *secrets, address string, body []byte, header http.Header) (*answer, error) {
	if err := c.mayCarry(s, address); err != nil {
		return nil, err
	}
	h, err := c.client()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, failf(misconfigured, "address is not valid")
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "gpumedic")
	switch {
	case s.token != "":
		req.Header.Set("Authorization", "Bearer "+s.token)
	case s.password != "":
		req.SetBasicAuth(c.ch.Username, s.password)
	}
	resp, err := h.Do(req)
	if err != nil {
		return nil, failf(tryLater, "post: %v", bare(err))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &answer{resp.Header, text}, c.refusal(resp, text)
	}
	if err != nil {
		return nil, failf(tryLater, "read answer: %v", bare(err))
	}
	return &answer{resp.Header, text}, nil
}

func (c *client) refusal(resp *http.Response, text []byte) error {
	f := failf(ofStatus(resp.StatusCode), "HTTP status %d%s", resp.StatusCode, excerpt(text))
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		f.msg = "answered with a redirect, which is not followed: it would carry the secret to another address"
	}
	f.wait = retryAfter(resp.Header, c.now())
	if f.what == tryLater && f.wait > 0 {
		f.what = limited // 503 with Retry-After
	}
	return f
}

// excerpt is the beginning of an answer as an error may show it.
func excerpt(text []byte) string {
	s := cut(oneLine(string(text)), 200)
	if s == "" {
		return ""
	}
	return ": " + s
}

// mayCarry refuses to send a secret in the clear to another machine.
func (c *client) mayCarry(s *secrets, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return failf(misconfigured, "address is not an http or https address")
	}
	secret := s.url != c.ch.URL || s.token != "" || s.password != ""
	if u.Scheme == "http" && secret && !c.ch.AllowHTTP && !loopback(u.Hostname()) {
		return failf(misconfigured, "address is http and would send a secret without TLS to %s (allow_http permits it)", u.Hostname())
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (c *client) client() (*http.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.http != nil {
		return c.http, nil
	}
	conf, err := c.ch.TLS.load()
	if err != nil {
		return nil, err
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.TLSClientConfig = conf
	tr.MaxIdleConnsPerHost = 1
	tr.IdleConnTimeout = 30 * time.Second
	c.http = &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c.http, nil
}

// load reads the files of a TLS section.
func (t *TLS) load() (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, failf(misconfigured, "read ca_file: %v", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, failf(misconfigured, "read ca_file %s: no certificate in it", t.CAFile)
		}
	}
	if t.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, failf(misconfigured, "read cert_file and key_file: %v", err)
		}
		conf.Certificates = []tls.Certificate{cert}
	}
	return conf, nil
}

// coded is the answer of the chat services that put errors into HTTP 200.
type coded struct {
	Code       *int   `json:"code"`       // Feishu
	StatusCode *int   `json:"StatusCode"` // Feishu, older robots
	ErrCode    *int   `json:"errcode"`    // DingTalk, WeCom
	Msg        string `json:"msg"`
	ErrMsg     string `json:"errmsg"`
}

// read gives the code of an answer; ok is false where it has none.
func (a *answer) read() (code int, text string, ok bool) {
	var c coded
	if json.Unmarshal(a.body, &c) != nil {
		return 0, "", false
	}
	for _, p := range []*int{c.Code, c.ErrCode, c.StatusCode} {
		if p != nil {
			return *p, cut(oneLine(strings.TrimSpace(c.Msg+" "+c.ErrMsg)), 200), true
		}
	}
	return 0, "", false
}

// judge reads the code of a 2xx answer. An answer without one did not come from the
// service (a proxy, a login page): nothing was delivered.
func (a *answer) judge(codes map[int]outcome) error {
	code, text, ok := a.read()
	switch {
	case !ok:
		return failf(tryLater, "answer is not that of the service%s", excerpt(a.body))
	case code == 0:
		return nil
	}
	what, ok := codes[code]
	if !ok {
		what = refused // after some attempts: not to block the channel for what we do not know
	}
	return failf(what, "error %d: %s", code, text)
}

// judged is post followed by judge, also for errors that a gateway sends with a status
// of its own and a code in the body: Feishu's limits its callers with 400 as well as 429,
// and a status alone would make that a message which nobody takes.
func (c *client) judged(ctx context.Context, s *secrets, address string, body []byte, codes map[int]outcome) error {
	a, err := c.post(ctx, s, address, body, nil)
	if err == nil {
		return a.judge(codes)
	}
	var f *failure
	if a != nil && errors.As(err, &f) {
		if code, text, ok := a.read(); ok && code != 0 {
			if what, known := codes[code]; known {
				f.what, f.msg = what, f.msg+" (error "+strconv.Itoa(code)+": "+text+")"
			}
		}
	}
	return err
}

// marshal encodes without turning < and > into \u003c: it costs room where a service
// counts bytes.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("notify: marshal: " + err.Error()) // only values of this package: strings, numbers, times
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
