package notify

import (
	"context"
	"database/sql"
	"log/slog"
	"time"
)

// A batch is what one message tells: the notices frozen together on disk.
type batch struct {
	Key     string // idempotency key: the same for every attempt, also after a restart
	Channel string
	Notices []Notice
	Late    bool // older than the channel's expiry
}

// sender delivers a batch to one service. nil means that the service has taken it; other
// errors are failures (failure.go) that may still hold secrets: the worker scrubs them.
type sender interface {
	send(ctx context.Context, b *batch, s *secrets) error
}

// stateful senders keep a state at the receiver that must be told again from time to
// time. record runs in the transaction that marks the batch as delivered.
type stateful interface {
	sender
	record(ctx context.Context, tx *sql.Tx, b *batch) error
	refresh(ctx context.Context, s *secrets) error
	every() time.Duration
}

// spec is what a type of channel is.
type spec struct {
	// fields of Channel that have a meaning for it; "secret x" means only x_file and x_env.
	fields []string
	// limits of the service, kept from our side before it has to refuse.
	limits []limit
	build  func(*env) sender
	// all takes everything that waits into one request: for services that group themselves.
	all bool
	// limitedFor is the wait after a rate limit that came without one.
	limitedFor time.Duration
}

// limit is at most n messages in a span.
type limit struct {
	n    int
	span time.Duration
}

// env is what a sender is built from.
type env struct {
	ch       *Channel
	db       *sql.DB
	instance string // of this outbox, random
	now      func() time.Time
	log      *slog.Logger
}

var types = []string{"alertmanager", "webhook", "slack", "feishu", "dingtalk", "wecom", "email", "exec"}

var specs = map[string]spec{
	"alertmanager": {
		fields: []string{"url", "token", "username", "password", "tls", "allow_http", "labels", "resend"},
		build:  newAlertmanager, all: true,
	},
	"webhook": {
		fields: []string{"url", "token", "secret secret", "username", "password", "tls", "allow_http"},
		build:  newWebhook,
	},
	// "1 per second, short bursts allowed"
	"slack": {
		fields: []string{"secret url", "tls", "allow_http"}, build: newSlack,
		limits: []limit{{10, 10 * time.Second}}, limitedFor: 30 * time.Second,
	},
	// "100 a minute, 5 a second" for each bot
	"feishu": {
		fields: []string{"secret url", "secret secret", "tls", "allow_http"}, build: newFeishu,
		limits: []limit{{5, time.Second}, {100, time.Minute}}, limitedFor: 30 * time.Second,
	},
	// "20 a minute, beyond it limited for 10 minutes"
	"dingtalk": {
		fields: []string{"secret url", "secret secret", "tls", "allow_http"}, build: newDingTalk,
		limits: []limit{{20, time.Minute}}, limitedFor: 10 * time.Minute,
	},
	// "20 a minute" for each robot
	"wecom": {
		fields: []string{"secret url", "tls", "allow_http"}, build: newWeCom,
		limits: []limit{{20, time.Minute}}, limitedFor: time.Minute,
	},
	"email": {
		fields: []string{"smtp", "security", "from", "to", "username", "password", "tls", "allow_http"},
		build:  newEmail, limitedFor: time.Minute,
	},
	"exec": {fields: []string{"command", "environment"}, build: newExec},
}

// pace keeps to the limits of a service by the times of the latest messages.
type pace struct {
	limits []limit
	sent   []time.Time
}

// wait is how long the next message has to wait.
func (p *pace) wait(now time.Time) time.Duration {
	var d time.Duration
	for _, l := range p.limits {
		if len(p.sent) < l.n {
			continue
		}
		if w := p.sent[len(p.sent)-l.n].Add(l.span).Sub(now); w <= l.span { // longer: the clock was set back
			d = max(d, w)
		}
	}
	return d
}

func (p *pace) note(now time.Time) {
	most := 0
	for _, l := range p.limits {
		most = max(most, l.n)
	}
	p.sent = append(p.sent, now)
	if len(p.sent) > most {
		p.sent = append(p.sent[:0], p.sent[len(p.sent)-most:]...)
	}
}
