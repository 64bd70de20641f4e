package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
)

// Schema is the name of the JSON that webhooks and hooks get. Fields are only ever added.
const Schema = "gpumedic.notice/v1"

// Delivery is the JSON form of a batch, documented in docs/notifications.md.
type Delivery struct {
	Schema  string   `json:"schema"`
	Key     string   `json:"key"` // equal for every attempt: drop what you have seen
	Channel string   `json:"channel"`
	Late    bool     `json:"late"`
	Title   string   `json:"title"` // one line, in the channel's language
	Text    string   `json:"text"`  // the whole message without markup
	Notices []Notice `json:"notices"`
}

const maxText = 8000

func deliveryOf(b *batch, lang string) []byte {
	m := compose(b, lang)
	return marshal(Delivery{Schema: Schema, Key: b.Key, Channel: b.Channel, Late: b.Late,
		Title: m.Title, Text: m.plain(maxText, false), Notices: b.Notices})
}

// Headers of a signed delivery. The signature covers the time, so that an old delivery
// cannot be sent again by somebody who saw it.
const (
	headerKey       = "Idempotency-Key"
	headerTime      = "X-Gpumedic-Timestamp"
	headerSignature = "X-Gpumedic-Signature"
)

type webhook struct {
	*client
}

func newWebhook(e *env) sender { return &webhook{&client{ch: e.ch, now: e.now}} }

func (w *webhook) send(ctx context.Context, b *batch, s *secrets) error {
	body := deliveryOf(b, w.ch.Language)
	h := http.Header{}
	h.Set(headerKey, `"`+b.Key+`"`)
	if s.secret != "" {
		at := strconv.FormatInt(w.now().Unix(), 10)
		h.Set(headerTime, at)
		h.Set(headerSignature, "sha256="+signature(s.secret, at, body))
	}
	_, err := w.post(ctx, s, s.url, body, h)
	return err
}

// signature is the hexadecimal HMAC-SHA256 of "time.body".
func signature(secret, at string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at))
	mac.Write([]byte{'.'})
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
