package notify

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// outcome is what a send that did not succeed means for what comes next.
type outcome int

const (
	// tryLater: the receiver did not answer or is not able to; the whole channel waits.
	tryLater outcome = iota
	// limited: the receiver asked for fewer messages; the whole channel waits as told.
	limited
	// misconfigured: credentials or address are wrong; the whole channel waits, longer,
	// and an operator is asked to look.
	misconfigured
	// refused: this message will not be taken; others may be.
	refused
)

func (o outcome) String() string {
	return [...]string{"no answer", "rate limited", "misconfigured", "refused"}[o]
}

// failure is the error of a sender. Its text must not hold a secret: see scrubber.
type failure struct {
	what outcome
	wait time.Duration // asked for by the receiver, 0 when it did not say
	msg  string
}

func (f *failure) Error() string { return f.what.String() + ": " + f.msg }

func failf(what outcome, format string, args ...any) *failure {
	return &failure{what: what, msg: fmt.Sprintf(format, args...)}
}

// asFailure is err as a failure; what a sender did not classify is worth another try.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return failf(tryLater, "%v", err)
}

// ofStatus judges an HTTP status that is not a success.
func ofStatus(status int) outcome {
	switch {
	case status == http.StatusTooManyRequests:
		return limited
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound,
		status == http.StatusMethodNotAllowed, status == http.StatusGone, status == http.StatusProxyAuthRequired,
		status >= 300 && status < 400:
		return misconfigured
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500:
		return tryLater
	}
	return refused
}

// Bounds of a wait that a receiver may ask for.
const (
	minWait = time.Second
	maxWait = time.Hour
)

// retryAfter reads how long a receiver asks to wait: seconds or a date (RFC 9110), or
// the seconds of Feishu's gateway. 0 when it does not say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	for _, name := range []string{"Retry-After", "X-Ogw-Ratelimit-Reset"} {
		v := h.Get(name)
		if v == "" {
			continue
		}
		if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 && s < 1e6 {
			return clampWait(time.Duration(s * float64(time.Second)))
		}
		if t, err := http.ParseTime(v); err == nil {
			return clampWait(t.Sub(now))
		}
	}
	return 0
}

func clampWait(d time.Duration) time.Duration { return min(max(d, minWait), maxWait) }

// backoff is how long a channel waits after its n-th failure in a row (n from 1), with
// jitter so that many nodes do not come back together. random is in [0, 1).
func backoff(what outcome, n int, random float64) time.Duration {
	base, top := time.Second, 5*time.Minute
	if what == misconfigured {
		base, top = 10*time.Second, 15*time.Minute
	}
	d := top
	if n < 20 {
		d = min(base<<(max(n, 1)-1), top)
	}
	return d/2 + time.Duration(random*float64(d/2))
}
