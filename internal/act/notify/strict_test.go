package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// strict is a receiver that enforces what a chat service publishes of its robots (see the
// sources in doc.go), by the clock of the test: shape of the message, size, signature and
// its age, rate. What it refuses it remembers.
type strict struct {
	*httptest.Server
	kind string
	now  func() time.Time

	mu     sync.Mutex
	sent   []time.Time
	banned time.Time
	texts  []string
	wrong  []string
}

const robotSecret = "SECsigningsecret"

// rules of the services: most bytes of a request, most bytes of a text, rates.
var rules = map[string]struct {
	body, text int
	limits     []limit
	ban        time.Duration
}{
	"feishu":   {20 << 10, 20 << 10, []limit{{5, time.Second}, {100, time.Minute}}, 0},
	"dingtalk": {20000, 20000, []limit{{20, time.Minute}}, 10 * time.Minute},
	"wecom":    {64 << 10, 2048, []limit{{20, time.Minute}}, 0},
	"slack":    {64 << 10, 4000, []limit{{10, 10 * time.Second}}, 0},
}

func newStrict(t *testing.T, kind string, now func() time.Time) *strict {
	s := &strict{kind: kind, now: now}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		status, answer := s.take(q, body)
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s
}

// take judges a request and answers as the service does.
func (s *strict) take(q *http.Request, body []byte) (status int, answer string) {
	refuse := func(status int, answer, why string) (int, string) {
		s.wrong = append(s.wrong, why)
		return status, answer
	}
	errors := map[string]map[string]string{
		"feishu":   {"": `{"code":0,"msg":"success","data":{}}`, "shape": `{"code":9499,"msg":"Bad Request"}`, "sign": `{"code":19021,"msg":"sign match fail"}`, "rate": `{"code":11232,"msg":"frequency limited"}`},
		"dingtalk": {"": `{"errcode":0,"errmsg":"ok"}`, "shape": `{"errcode":400105,"errmsg":"unsupported"}`, "sign": `{"errcode":310000,"errmsg":"sign not match"}`, "rate": `{"errcode":130101,"errmsg":"send too fast, exceed 20 times per minute"}`},
		"wecom":    {"": `{"errcode":0,"errmsg":"ok"}`, "shape": `{"errcode":40058,"errmsg":"invalid"}`, "rate": `{"errcode":45009,"errmsg":"api freq out of limit"}`},
	}[s.kind]
	code := 200
	if s.kind == "slack" {
		errors = map[string]string{"": "ok", "shape": "invalid_payload", "rate": "rate_limited"}
	}
	bad := func(what, why string) (int, string) {
		if s.kind == "slack" {
			code = map[string]int{"shape": 400, "rate": 429}[what]
		}
		return refuse(code, errors[what], why)
	}
	if q.Method != "POST" || !strings.HasPrefix(q.Header.Get("Content-Type"), "application/json") || q.URL.Path != "/hook/robot" || q.URL.Query().Get("key") != "k" {
		return bad("shape", "request "+q.Method+" "+q.URL.Path+" "+q.Header.Get("Content-Type"))
	}
	r := rules[s.kind]
	text, why := s.text(body)
	if why != "" || len(body) > r.body || len(text) > r.text || text == "" {
		return bad("shape", fmt.Sprintf("%s; request of %d bytes, text of %d", why, len(body), len(text)))
	}
	if why := s.signed(q.URL.Query(), body); why != "" {
		return bad("sign", why)
	}
	now := s.now()
	for _, l := range r.limits {
		n := 0
		for _, at := range s.sent {
			if now.Sub(at) < l.span {
				n++
			}
		}
		if n >= l.n {
			s.banned = now.Add(r.ban)
			return bad("rate", fmt.Sprintf("%d messages within %s", n+1, l.span))
		}
	}
	if now.Before(s.banned) {
		return bad("rate", "sent while limited")
	}
	s.sent, s.texts = append(s.sent, now), append(s.texts, text)
	return 200, errors[""]
}

// text reads a message by the published form; unknown fields are refused.
func (s *strict) text(body []byte) (text, why string) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return "", err.Error()
	}
	allowed := map[string][]string{"feishu": {"content", "msg_type", "sign", "timestamp"}, "dingtalk": {"msgtype", "text"}, "wecom": {"msgtype", "text"}, "slack": {"text", "unfurl_links"}}[s.kind]
	if got := slices.Sorted(maps.Keys(m)); !slices.Equal(got, allowed) {
		return "", fmt.Sprintf("fields %v", got)
	}
	switch s.kind {
	case "slack":
		if err := json.Unmarshal(m["text"], &text); err != nil {
			return "", err.Error()
		}
	case "feishu":
		var c struct {
			Post map[string]struct {
				Title   string
				Content [][]map[string]string
			}
		}
		if err := json.Unmarshal(m["content"], &c); err != nil || len(c.Post) != 1 || string(m["msg_type"]) != `"post"` {
			return "", fmt.Sprintf("content %s", m["content"])
		}
		for _, p := range c.Post {
			text = p.Title
			for _, l := range p.Content {
				for _, e := range l {
					if e["tag"] != "text" && !(e["tag"] == "a" && strings.HasPrefix(e["href"], "https://")) {
						return "", fmt.Sprintf("element %v", e)
					}
					text += "\n" + e["text"]
				}
			}
		}
	default:
		var c map[string]string
		if err := json.Unmarshal(m["text"], &c); err != nil || len(c) != 1 || string(m["msgtype"]) != `"text"` {
			return "", fmt.Sprintf("text %s", m["text"])
		}
		text = c["content"]
	}
	return text, ""
}

// signed checks the signature and that it is not older than an hour.
func (s *strict) signed(q url.Values, body []byte) (why string) {
	var at, sign, want string
	var unit time.Duration
	switch s.kind {
	case "feishu":
		var m struct{ Timestamp, Sign string }
		_ = json.Unmarshal(body, &m) // text has read it
		at, sign, unit = m.Timestamp, m.Sign, time.Second
		mac := hmac.New(sha256.New, []byte(at+"\n"+robotSecret))
		want = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	case "dingtalk":
		at, sign, unit = q.Get("timestamp"), q.Get("sign"), time.Millisecond
		mac := hmac.New(sha256.New, []byte(robotSecret))
		mac.Write([]byte(at + "\n" + robotSecret))
		want = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	default:
		return ""
	}
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil || s.now().Sub(time.Unix(0, n*int64(unit))).Abs() > time.Hour {
		return "timestamp " + at
	}
	if sign != want {
		return "sign " + sign
	}
	return ""
}

// TestStrictServices: a storm of incidents with absurd names goes to receivers that
// enforce the published rules, while the daemon is restarted again and again. Nothing that
// is sent breaks one, and in the end all is told, however long the rates make it take.
func TestStrictServices(t *testing.T) {
	for kind := range rules {
		t.Run(kind, func(t *testing.T) {
			var r *rig
			s := newStrict(t, kind, func() time.Time { return r.at })
			ch := Channel{Name: "c", Type: kind, URLFile: write(t, "url", s.URL+"/hook/robot?key=k\n"), Language: "zh"}
			if kind == "feishu" || kind == "dingtalk" {
				ch.SecretFile = write(t, "secret", robotSecret+"\n")
			}
			conf := Config{Channels: []Channel{ch}}
			r = newRig(t, conf)
			incidents := int64(300)
			if testing.Short() {
				incidents = 60
			}
			id := int64(0)
			told := func(kind Kind) {
				for n := int64(1); n <= incidents; n++ {
					id++
					m := notice(id, n, kind)
					m.Subject.Process.Name = strings.Repeat("名字\"\\<at>", 400)
					m.Labels["pod"] = strings.Repeat("p", 5000)
					m.Reason = strings.Repeat("原因😀", 2000)
					m.At = r.at
					r.put(m)
					if n%7 == 0 { // they come by and by, while some wait already
						r.at = r.at.Add(time.Second)
						r.step(0)
					}
					if n%40 == 0 { // and the daemon is started anew
						r.open(conf)
					}
				}
			}
			told(Opened)
			r.at = r.at.Add(3 * time.Second)
			told(Closed)
			for n := 0; r.stats(0).Waiting > 0; n++ {
				if n > 2000 {
					t.Fatalf("%d still wait; %v", r.stats(0).Waiting, s.wrong)
				}
				r.at = r.at.Add(r.drain(0))
			}
			if len(s.wrong) > 0 {
				t.Errorf("%d refused, the first: %s", len(s.wrong), s.wrong[0])
			}
			st := r.stats(0)
			if st.Delivered != 2*incidents || st.Dropped+st.GivenUp+st.Failures > 0 {
				t.Errorf("%d messages, stats %+v", len(s.texts), st)
			}
			t.Logf("%d notices in %d messages, %s", 2*incidents, len(s.texts), r.at.Sub(t0))
		})
	}
}
