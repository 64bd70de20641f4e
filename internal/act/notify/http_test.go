package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// chat makes a channel of a chat service whose address is a secret.
func chat(t *testing.T, kind string, r *receiver) Channel {
	ch := Channel{Name: "c", Type: kind, URLFile: write(t, "url", r.URL+"/hook/verysecretpath?access_token=verysecretquery\n")}
	if kind == "feishu" || kind == "dingtalk" {
		ch.SecretFile = write(t, "secret", "SECsigningsecret\n")
	}
	return ch
}

func TestAnswers(t *testing.T) {
	const page = "<!DOCTYPE html><html>log in</html>"
	for _, c := range []struct {
		kind   string
		status int
		body   string
		want   string
	}{
		{"slack", 200, "ok", "delivered"},
		{"slack", 200, `{"success":true}`, "delivered"},
		{"slack", 200, `{"success":false,"error":"x"}`, "refused"},
		{"slack", 200, page, "no answer"},
		{"slack", 400, "invalid_payload", "refused"},
		{"slack", 403, "action_prohibited", "misconfigured"},
		{"slack", 404, "channel_not_found", "misconfigured"},
		{"slack", 410, "channel_is_archived", "misconfigured"},
		{"slack", 429, "", "rate limited"},
		{"slack", 500, "rollup_error", "no answer"},
		{"feishu", 200, `{"code":0,"msg":"success"}`, "delivered"},
		{"feishu", 200, `{"StatusCode":0,"StatusMessage":"success"}`, "delivered"},
		{"feishu", 200, `{"code":11232,"msg":"frequency limited"}`, "rate limited"},
		{"feishu", 200, `{"code":19021,"msg":"sign match fail or timestamp is not within one hour from current time"}`, "misconfigured"},
		{"feishu", 200, `{"code":19001,"msg":"param invalid: incoming webhook access token invalid"}`, "misconfigured"},
		{"feishu", 200, `{"code":9499,"msg":"Bad Request"}`, "refused"},
		{"feishu", 200, `{"code":424242,"msg":"never seen"}`, "refused"},
		{"feishu", 200, page, "no answer"},
		{"feishu", 200, `{}`, "no answer"},
		{"feishu", 400, `{"code":99991400,"msg":"request trigger frequency limit"}`, "rate limited"}, // older ones of its gateway
		{"feishu", 400, `{"code":11232,"msg":"create message service trigger rate limit"}`, "rate limited"},
		{"feishu", 400, `{"code":9499,"msg":"Bad Request"}`, "refused"},
		{"feishu", 500, `{"code":424242,"msg":"never seen"}`, "no answer"},
		{"feishu", 429, `{"code":99991400,"msg":"request trigger frequency limit"}`, "rate limited"},
		{"dingtalk", 200, `{"errcode":0,"errmsg":"ok"}`, "delivered"},
		{"dingtalk", 200, `{"errcode":-1,"errmsg":"system busy"}`, "no answer"},
		{"dingtalk", 200, `{"errcode":130101,"errmsg":"send too fast, exceed 20 times per minute"}`, "rate limited"},
		{"dingtalk", 200, `{"errcode":410100,"errmsg":"too fast"}`, "rate limited"},
		{"dingtalk", 200, `{"errcode":310000,"errmsg":"sign not match"}`, "misconfigured"},
		{"dingtalk", 200, `{"errcode":300001,"errmsg":"token is not exist"}`, "misconfigured"},
		{"dingtalk", 200, `{"errcode":460101,"errmsg":"message too long"}`, "refused"},
		{"wecom", 200, `{"errcode":0,"errmsg":"ok"}`, "delivered"},
		{"wecom", 200, `{"errcode":45009,"errmsg":"api freq out of limit"}`, "rate limited"},
		{"wecom", 200, `{"errcode":93000,"errmsg":"invalid webhook url"}`, "misconfigured"},
		{"wecom", 200, `{"errcode":40058,"errmsg":"content exceed max length"}`, "refused"},
		{"wecom", 200, `not json`, "no answer"},
		{"webhook", 204, "", "delivered"},
		{"webhook", 422, "", "refused"},
		{"webhook", 401, "", "misconfigured"},
		{"webhook", 302, "", "misconfigured"},
		{"webhook", 503, "", "no answer"},
		{"alertmanager", 200, "", "delivered"},
		{"alertmanager", 400, `"bad label"`, "refused"},
		{"alertmanager", 500, "", "no answer"},
	} {
		t.Run(c.kind+" "+http.StatusText(c.status)+" "+cut(c.body, 40), func(t *testing.T) {
			r := newReceiver(t, false, always(c.status, c.body))
			ch := Channel{Name: "c", Type: c.kind, URL: r.URL}
			if c.kind != "webhook" && c.kind != "alertmanager" {
				ch = chat(t, c.kind, r)
			}
			if got := outcomeOf(sendOne(t, ch)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if n := len(r.requests()); n != 1 {
				t.Errorf("%d requests, want one attempt", n)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "30", 30 * time.Second},
		{"Retry-After", t0.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second},
		{"Retry-After", "999999", time.Hour}, // nobody may switch us off for good
		{"Retry-After", "0", time.Second},
		{"Retry-After", "soon", 0},
		{"X-Ogw-Ratelimit-Reset", "52", 52 * time.Second},
		{"X-Other", "5", 0},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		if got := retryAfter(h, t0); got != c.want {
			t.Errorf("%s: %s: got %s, want %s", c.name, c.value, got, c.want)
		}
	}
}

func TestWebhookSignature(t *testing.T) {
	r := newReceiver(t, true, nil)
	ch := Channel{Name: "c", Type: "webhook", URL: r.URL + "/in", TokenFile: write(t, "token", "tok"),
		SecretFile: write(t, "secret", "sign me"), TLS: TLS{CAFile: r.caFile(t)}, Language: "zh"}
	if err := sendOne(t, ch); err != nil {
		t.Fatal(err)
	}
	q := r.requests()[0]
	mac := hmac.New(sha256.New, []byte("sign me"))
	mac.Write([]byte(q.header.Get("X-Gpumedic-Timestamp") + "." + string(q.body)))
	if got, want := q.header.Get("X-Gpumedic-Signature"), "sha256="+hex.EncodeToString(mac.Sum(nil)); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	if got := q.header.Get("Authorization"); got != "Bearer tok" {
		t.Errorf("authorization %q", got)
	}
	if got := q.header.Get("Idempotency-Key"); got != `"k-1"` {
		t.Errorf("idempotency key %s", got)
	}
	var d Delivery
	if err := json.Unmarshal(q.body, &d); err != nil {
		t.Fatal(err)
	}
	if d.Schema != Schema || d.Key != "k-1" || len(d.Notices) != 1 || d.Notices[0].Incident != 12 || !strings.Contains(d.Text, "掉卡") && !strings.Contains(d.Text, "失去响应") {
		t.Errorf("body %s", q.body)
	}
}

func TestFeishuBody(t *testing.T) {
	r := newReceiver(t, false, always(200, `{"code":0}`))
	ch := chat(t, "feishu", r)
	ch.Language = "zh"
	n := notice(1, 12, Opened)
	n.Subject.Process.Name = `<at user_id="all">x</at>`
	if err := sendOne(t, ch, n); err != nil {
		t.Fatal(err)
	}
	var b struct {
		MsgType   string `json:"msg_type"`
		Timestamp string
		Sign      string
		Content   struct {
			Post map[string]struct {
				Title   string
				Content [][]map[string]string
			}
		}
	}
	if err := json.Unmarshal(r.requests()[0].body, &b); err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(b.Timestamp+"\nSECsigningsecret"))
	if want := base64.StdEncoding.EncodeToString(mac.Sum(nil)); b.Sign != want || len(b.Timestamp) != 10 {
		t.Errorf("sign %q of %q, want %q", b.Sign, b.Timestamp, want)
	}
	post := b.Content.Post["zh_cn"]
	if b.MsgType != "post" || !strings.Contains(post.Title, "严重") || len(post.Content) != 2 ||
		post.Content[0][0]["tag"] != "text" || post.Content[1][0]["href"] != "https://gpu-a7:9400/incidents/12" {
		t.Errorf("body %s", r.requests()[0].body)
	}
	if len(r.requests()[0].body) > 20<<10 {
		t.Error("body over 20 KB")
	}
}

func TestDingTalkSign(t *testing.T) {
	r := newReceiver(t, false, always(200, `{"errcode":0}`))
	if err := sendOne(t, chat(t, "dingtalk", r)); err != nil {
		t.Fatal(err)
	}
	q, err := url.ParseQuery(r.requests()[0].query)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte("SECsigningsecret"))
	mac.Write([]byte(q.Get("timestamp") + "\nSECsigningsecret"))
	if want := base64.StdEncoding.EncodeToString(mac.Sum(nil)); q.Get("sign") != want || len(q.Get("timestamp")) != 13 || q.Get("access_token") != "verysecretquery" {
		t.Errorf("query %v", q)
	}
}

func TestMentionsAreDefused(t *testing.T) {
	n := notice(1, 12, Opened)
	n.Subject.Process.Name = "<!channel> <@all> @here *x*"
	m := compose(&batch{Notices: []Notice{n}}, "en")
	if s := slackText(m); strings.Contains(s, "<!") || strings.Contains(s, "<@") || strings.Contains(s, "@here") {
		t.Errorf("slack: %s", s)
	}
	r := newReceiver(t, false, always(200, `{"errcode":0}`))
	if err := sendOne(t, chat(t, "wecom", r), n); err != nil {
		t.Fatal(err)
	}
	if s := string(r.requests()[0].body); strings.Contains(s, "<@") {
		t.Errorf("wecom: %s", s)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	thief := newReceiver(t, false, nil)
	for _, status := range []int{301, 302, 307, 308} {
		r := newReceiver(t, false, always(status, "", "Location", thief.URL+"/steal"))
		err := sendOne(t, Channel{Name: "c", Type: "webhook", URL: r.URL, TokenFile: write(t, "token", "tok")})
		if outcomeOf(err) != "misconfigured" {
			t.Errorf("%d: %v", status, err)
		}
	}
	if n := len(thief.requests()); n > 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
}

func TestTLSIsChecked(t *testing.T) {
	r := newReceiver(t, true, nil)
	if err := sendOne(t, Channel{Name: "c", Type: "webhook", URL: r.URL}); outcomeOf(err) != "no answer" || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown authority: %v", err)
	}
	ch := Channel{Name: "c", Type: "webhook", URL: r.URL, TLS: TLS{CAFile: r.caFile(t)}}
	if err := sendOne(t, ch); err != nil {
		t.Errorf("known authority: %v", err)
	}
	ch.TLS.CAFile = write(t, "bad.pem", "no certificate")
	if err := sendOne(t, ch); outcomeOf(err) != "misconfigured" {
		t.Errorf("bad ca_file: %v", err)
	}
}

func TestSecretNeedsTLS(t *testing.T) {
	ch := Channel{Name: "c", Type: "webhook", URL: "http://receiver.example/in", TokenFile: write(t, "token", "tok")}
	if err := sendOne(t, ch); outcomeOf(err) != "misconfigured" || !strings.Contains(err.Error(), "without TLS") {
		t.Errorf("got %v", err)
	}
}

func TestTimeout(t *testing.T) {
	done := make(chan struct{})
	r := newReceiver(t, false, func(int, http.ResponseWriter) { <-done })
	defer close(done)
	err := sendOne(t, Channel{Name: "c", Type: "webhook", URL: r.URL, Timeout: 50 * time.Millisecond})
	if outcomeOf(err) != "no answer" || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("got %v", err)
	}
}
