package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/gpumedic/gpumedic/internal/lang"
)

// feishu speaks to custom bots of Feishu and Lark. The message is of type post with plain
// text elements: in type text a process named `<at user_id="all">` would wake everybody.
type feishu struct {
	*client
}

// A request may have 20 KB; the rest of it is small.
const maxFeishu = 12000

// Errors of the bot, inside HTTP 200 or (of the gateway) another status.
var feishuCodes = map[int]outcome{
	11232:    limited,       // frequency limited
	99991400: limited,       // of the gateway
	19001:    misconfigured, // the address is not that of a bot
	19021:    misconfigured, // signature does not match, or the clock is off by an hour
	19022:    misconfigured, // the sender's IP is not allowed
	19024:    misconfigured, // the bot wants a keyword that the message does not hold
	9499:     refused,       // bad request
}

func newFeishu(e *env) sender { return &feishu{&client{ch: e.ch, now: e.now}} }

func (f *feishu) send(ctx context.Context, b *batch, s *secrets) error {
	m := compose(b, f.ch.Language)
	body := map[string]any{
		"msg_type": "post",
		"content":  map[string]any{"post": map[string]any{lang.Pick(m.Lang, "en_us", "zh_cn"): feishuPost(m)}},
	}
	if s.secret != "" {
		at := strconv.FormatInt(f.now().Unix(), 10)
		body["timestamp"], body["sign"] = at, feishuSign(s.secret, at)
	}
	return f.judged(ctx, s, s.url, marshal(body), feishuCodes)
}

func feishuPost(m *message) map[string]any {
	link := m.Link
	bare := *m
	bare.Link = ""
	content := [][]map[string]string{{{"tag": "text", "text": bare.plain(maxFeishu, false)}}}
	if link != "" {
		content = append(content, []map[string]string{{"tag": "a", "text": say(m.Lang, wDetails), "href": link}})
	}
	return map[string]any{"title": m.Title, "content": content}
}

// feishuSign: "timestamp\nsecret" is the key, and what is signed is empty.
func feishuSign(secret, at string) string {
	mac := hmac.New(sha256.New, []byte(at+"\n"+secret))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
