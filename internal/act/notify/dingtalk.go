package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
)

// dingTalk speaks to custom robots of DingTalk. Type text: its markdown has no code, and
// would eat characters of a command.
type dingTalk struct {
	*client
}

// A request may have 20,000 bytes.
const maxDingTalk = 6000

// Errors inside HTTP 200.
var dingTalkCodes = map[int]outcome{
	-1:     tryLater,      // system busy
	130101: limited,       // sent too fast, older robots
	410100: limited,       // sent too fast
	310000: misconfigured, // signature, keyword or sender's IP
	300001: misconfigured, // token does not exist
	300005: misconfigured, // token does not exist
	400013: misconfigured, // the group was dissolved
	400101: misconfigured, // access_token does not exist
	400102: misconfigured, // robot stopped
	400106: misconfigured, // robot does not exist
	460101: refused,       // message too long
	430101: refused,       // unsafe link
	430102: refused,       // text not allowed
}

func newDingTalk(e *env) sender { return &dingTalk{&client{ch: e.ch, now: e.now}} }

func (d *dingTalk) send(ctx context.Context, b *batch, s *secrets) error {
	m := compose(b, d.ch.Language)
	address := s.url
	if s.secret != "" {
		var err error
		if address, err = dingTalkSigned(address, s.secret, d.now().UnixMilli()); err != nil {
			return err
		}
	}
	body := marshal(map[string]any{"msgtype": "text", "text": map[string]string{"content": m.plain(maxDingTalk, true)}})
	return d.judged(ctx, s, address, body, dingTalkCodes)
}

// dingTalkSigned adds timestamp and sign to the address: HMAC of "timestamp\nsecret"
// under the secret; milliseconds.
func dingTalkSigned(address, secret string, ms int64) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", failf(misconfigured, "address is not valid")
	}
	at := strconv.FormatInt(ms, 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at + "\n" + secret))
	q := u.Query()
	q.Set("timestamp", at)
	q.Set("sign", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	u.RawQuery = q.Encode()
	return u.String(), nil
}
