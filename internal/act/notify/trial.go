package notify

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/gpumedic/gpumedic"
)

// Trial sends a test message over one channel, past the outbox and the routes, and
// returns what the receiver said. For an operator who sets a channel up.
func (n *Notifier) Trial(ctx context.Context, channel string) error {
	for _, w := range n.workers {
		if w.ch.Name != channel {
			continue
		}
		s, err := w.ch.secrets()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, w.ch.Timeout)
		defer cancel()
		now := n.now()
		host, _ := os.Hostname() // a test message without a node is still one
		b := &batch{Key: n.box.instance + "-" + channel + "-test-" + strconv.FormatInt(now.UnixNano(), 36), Channel: channel,
			Notices: []Notice{{Kind: Opened, Severity: gpumedic.SeverityInfo, Fault: "test-message", At: now, Opened: now,
				Subject: gpumedic.Subject{Node: host},
				Texts: map[string]Text{
					"en": {Title: "test message", Headline: "This is a test of the channel " + channel + ": nothing is wrong."},
					"zh": {Title: "测试消息", Headline: "这是通道 " + channel + " 的测试消息，没有发生故障。"},
				}}}}
		return s.scrub.cleanErr(w.to.send(ctx, b, s))
	}
	return fmt.Errorf("send test message: no channel %q", channel)
}
