package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"os"
	"strings"
	"time"
)

// email hands a message to a mail server. The message's own id is the idempotency key:
// mail servers and readers drop a second copy.
type email struct {
	ch       *Channel
	instance string
	now      func() time.Time
	log      *slog.Logger
}

const maxMail = 64 << 10

func newEmail(e *env) sender { return &email{e.ch, e.instance, e.now, e.log} }

func (e *email) send(ctx context.Context, b *batch, s *secrets) error {
	conf, err := e.ch.TLS.load()
	if err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(e.ch.SMTP)
	if conf.ServerName == "" {
		conf.ServerName = host
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", e.ch.SMTP)
	if err != nil {
		return failf(tryLater, "connect: %v", err)
	}
	defer conn.Close()
	if d, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(d); err != nil {
			return failf(tryLater, "connect: %v", err)
		}
	}
	if e.ch.Security == "tls" {
		conn = tls.Client(conn, conf)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return smtpFailure("greeting", err, tryLater)
	}
	defer c.Close()
	if err := e.login(c, conf, s); err != nil {
		return err
	}
	return e.transfer(c, b)
}

// login protects the connection and says who we are.
func (e *email) login(c *smtp.Client, conf *tls.Config, s *secrets) error {
	if name, err := os.Hostname(); err == nil && name != "" {
		if err := c.Hello(name); err != nil {
			return smtpFailure("EHLO", err, misconfigured)
		}
	}
	if e.ch.Security == "starttls" {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return failf(misconfigured, "server does not offer STARTTLS")
		}
		if err := c.StartTLS(conf); err != nil {
			return smtpFailure("STARTTLS", err, tryLater)
		}
	}
	if e.ch.Username == "" {
		return nil
	}
	ok, offered := c.Extension("AUTH")
	if !ok {
		return failf(misconfigured, "server does not offer AUTH")
	}
	var auth smtp.Auth = &plainAuth{e.ch.Username, s.password}
	if words := strings.Fields(strings.ToUpper(offered)); !known(words, "PLAIN") && known(words, "LOGIN") {
		auth = &loginAuth{e.ch.Username, s.password}
	}
	if err := c.Auth(auth); err != nil {
		return smtpFailure("AUTH", err, misconfigured)
	}
	return nil
}

// transfer names sender and recipients and hands over the text. A recipient that is
// refused for good does not keep the message from the others; one that should be tried
// later keeps it from all, or the others would get it twice.
func (e *email) transfer(c *smtp.Client, b *batch) error {
	from, err := mail.ParseAddress(e.ch.From)
	if err != nil {
		return failf(misconfigured, "from: %v", err)
	}
	if err := c.Mail(from.Address); err != nil {
		return smtpFailure("MAIL FROM", err, misconfigured)
	}
	taken := 0
	var last error
	var refusals []string
	for _, to := range e.ch.To {
		a, err := mail.ParseAddress(to)
		if err != nil {
			return failf(misconfigured, "to: %v", err)
		}
		if err := c.Rcpt(a.Address); err != nil {
			if last = smtpFailure("RCPT TO", err, misconfigured); asFailure(last).what != misconfigured {
				return last
			}
			refusals = append(refusals, a.Address+": "+asFailure(last).msg)
			continue
		}
		taken++
	}
	if taken == 0 {
		return last
	}
	w, err := c.Data()
	if err != nil {
		return smtpFailure("DATA", err, refused)
	}
	if _, err := w.Write(e.compose(b)); err != nil {
		return failf(tryLater, "send text: %v", err)
	}
	if err := w.Close(); err != nil {
		return smtpFailure("DATA", err, refused)
	}
	for _, r := range refusals {
		e.log.Warn("mail recipient refused, the others were told", "channel", e.ch.Name, "recipient", r)
	}
	_ = c.Quit() // the message is the server's since the answer to DATA
	return nil
}

// compose is the message in the form of RFC 5322.
func (e *email) compose(b *batch) []byte {
	m := compose(b, e.ch.Language)
	domain := "gpumedic.invalid"
	if a, err := mail.ParseAddress(e.ch.From); err == nil {
		if _, d, ok := strings.Cut(a.Address, "@"); ok {
			domain = d
		}
	}
	var out bytes.Buffer
	head := func(k, v string) { fmt.Fprintf(&out, "%s: %s\r\n", k, v) }
	head("From", addresses(e.ch.From))
	head("To", addresses(e.ch.To...))
	head("Subject", mime.QEncoding.Encode("utf-8", m.Title))
	head("Date", e.now().Format(time.RFC1123Z))
	head("Message-ID", "<"+b.Key+"@"+domain+">")
	if n := b.Notices[0]; len(latest(b.Notices)) == 1 {
		// One thread for an incident, as mail readers show it.
		thread := fmt.Sprintf("<%s-incident-%d@%s>", e.instance, n.Incident, domain)
		if n.Alert != nil {
			thread = fmt.Sprintf("<%s-alert-%d@%s>", e.instance, n.Alert.ID, domain)
		}
		head("References", thread)
		head("In-Reply-To", thread)
	}
	head("Auto-Submitted", "auto-generated")
	head("MIME-Version", "1.0")
	head("Content-Type", "text/plain; charset=utf-8")
	head("Content-Transfer-Encoding", "quoted-printable")
	out.WriteString("\r\n")
	q := quotedprintable.NewWriter(&out)
	_, _ = q.Write([]byte(strings.ReplaceAll(m.plain(maxMail, false), "\n", "\r\n") + "\r\n")) // to memory
	_ = q.Close()
	return out.Bytes()
}

func addresses(list ...string) string {
	var out []string
	for _, s := range list {
		if a, err := mail.ParseAddress(s); err == nil {
			out = append(out, a.String())
		}
	}
	return strings.Join(out, ",\r\n ")
}

// smtpFailure judges a reply: 4xx is for later, 5xx as the step says; anything else is a
// broken connection or certificate.
func smtpFailure(step string, err error, permanent outcome) error {
	var reply *textproto.Error
	if !errors.As(err, &reply) {
		var cert *tls.CertificateVerificationError
		if errors.As(err, &cert) {
			return failf(misconfigured, "%s: %v", step, err)
		}
		return failf(tryLater, "%s: %v", step, err)
	}
	what := permanent
	if reply.Code < 500 {
		what = tryLater
	}
	return failf(what, "%s: reply %d %s", step, reply.Code, cut(oneLine(reply.Msg), 200))
}

// plainAuth and loginAuth leave it to the configuration whether a connection is safe
// enough (validate.go); the ones of net/smtp know only one form of localhost.
type plainAuth struct{ user, password string }

func (a *plainAuth) Start(*smtp.ServerInfo) (string, []byte, error) {
	return "PLAIN", []byte("\x00" + a.user + "\x00" + a.password), nil
}

func (a *plainAuth) Next(_ []byte, more bool) ([]byte, error) {
	if more {
		return nil, errors.New("unexpected challenge")
	}
	return nil, nil
}

type loginAuth struct{ user, password string }

func (a *loginAuth) Start(*smtp.ServerInfo) (string, []byte, error) { return "LOGIN", nil, nil }

func (a *loginAuth) Next(challenge []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	if strings.HasPrefix(strings.ToLower(string(challenge)), "user") {
		return []byte(a.user), nil
	}
	return []byte(a.password), nil
}
