package notify

import (
	"context"
	"strings"
)

// weCom speaks to group robots of WeCom. Type text: it also reaches members who read the
// group in WeChat, where markdown is not shown.
type weCom struct {
	*client
}

const maxWeCom = 2048 // bytes of a text

// Errors inside HTTP 200.
var weComCodes = map[int]outcome{
	-1:    tryLater,      // system busy
	45009: limited,       // too many calls
	45033: limited,       // too many at the same time
	93000: misconfigured, // the address is not that of a robot
	93004: misconfigured, // the robot is stopped
	93008: misconfigured, // the robot is not in the group
	40058: refused,       // a parameter, such as a text that is too long
	40008: refused,       // type of message
	44004: refused,       // empty
}

func newWeCom(e *env) sender { return &weCom{&client{ch: e.ch, now: e.now}} }

func (w *weCom) send(ctx context.Context, b *batch, s *secrets) error {
	// <@userid> mentions a person, also in a text: replaced by as many bytes, so that the
	// bound holds.
	text := strings.ReplaceAll(compose(b, w.ch.Language).plain(maxWeCom, true), "<@", "(@")
	body := marshal(map[string]any{"msgtype": "text", "text": map[string]string{"content": text}})
	return w.judged(ctx, s, s.url, body, weComCodes)
}
