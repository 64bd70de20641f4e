//go:build e2e

// Package mail hands notices to a real mail server (Debian: exim4-daemon-light), over
// STARTTLS and over TLS from the first byte, with a user and a password, and reads what it
// then delivers. It needs root, since the server gives up its rights itself; without
// server or root it skips and says so.
package mail

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/e2e/peers"
	"github.com/gpumedic/gpumedic/internal/act/notify"
	"github.com/gpumedic/gpumedic/internal/web/webtest"
)

// config is a server that takes mail of who has logged in, and puts it into one file.
const config = `primary_hostname = mail.test
spool_directory = %[1]s/spool
log_file_path = %[1]s/log-%%s
local_interfaces = 127.0.0.1
daemon_smtp_ports = %[2]s : %[3]s
tls_on_connect_ports = %[3]s
tls_advertise_hosts = *
tls_certificate = %[1]s/cert.pem
tls_privatekey = %[1]s/key.pem
auth_advertise_hosts = ${if eq{$tls_in_cipher}{}{}{*}}
acl_smtp_rcpt = rcpt
acl_smtp_data = data
host_lookup =
rfc1413_query_timeout = 0s
begin acl
rcpt:
  deny !authenticated = *
  deny local_parts = nobody
       message = unknown user
  accept
data:
  require verify = header_syntax
  accept
begin routers
all:
  driver = accept
  transport = inbox
begin transports
inbox:
  driver = appendfile
  file = %[1]s/inbox
  batch_max = 100
  user = %[4]s
  message_prefix = "From test\n"
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${if and{{eq{$auth2}{gpumedic}}{eq{$auth3}{mailpassword}}}}
  server_set_id = $auth2
`

// server is a mail server with one port for STARTTLS and one for TLS.
type server struct {
	t             *testing.T
	dir           string
	starttls, tls string
}

func start(t *testing.T) *server {
	t.Helper()
	program, err := exec.LookPath("exim4")
	if err != nil {
		t.Skip("exim4 is not installed (Debian: exim4-daemon-light)")
	}
	if os.Geteuid() != 0 {
		t.Skip("a mail server must be started as root")
	}
	const name = "Debian-exim"
	u, err := user.Lookup(name)
	if err != nil {
		t.Skipf("no user %s (Debian: exim4-daemon-light)", name)
	}
	s := &server{t: t, dir: t.TempDir(), starttls: peers.Free(t), tls: peers.Free(t)}
	for d := s.dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) { // its user looks in there
		must(t, os.Chmod(d, 0o755))
	}
	_, err = webtest.Protect(s.dir, "x", "x")
	must(t, err)
	uid, err := strconv.Atoi(u.Uid)
	must(t, err)
	gid, err := strconv.Atoi(u.Gid)
	must(t, err)
	must(t, os.Mkdir(filepath.Join(s.dir, "spool"), 0o750))
	for _, f := range []string{"", "spool", "cert.pem", "key.pem"} {
		must(t, os.Chown(filepath.Join(s.dir, f), uid, gid))
	}
	conf := filepath.Join(s.dir, "exim.conf")
	must(t, os.WriteFile(conf, fmt.Appendf(nil, config, s.dir, port(t, s.starttls), port(t, s.tls), name), 0o644))
	peers.Start(t, exec.Command(program, "-C", conf, "-bdf", "-q1m"))
	peers.Until(t, "the server's greeting", func() bool {
		c, err := net.Dial("tcp", s.starttls)
		if err != nil {
			return false
		}
		defer c.Close()
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.HasPrefix(line, "220 ")
	})
	t.Cleanup(func() {
		if t.Failed() {
			b, _ := os.ReadFile(filepath.Join(s.dir, "log-main"))
			t.Logf("mail server: %s", b)
		}
	})
	return s
}

func port(t *testing.T, address string) string {
	_, p, err := net.SplitHostPort(address)
	must(t, err)
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mails are those delivered so far, as they are in the file.
func (s *server) mails() []*mail.Message {
	b, err := os.ReadFile(filepath.Join(s.dir, "inbox"))
	if err != nil {
		return nil
	}
	var out []*mail.Message
	for _, text := range strings.Split(string(b), "From test\n")[1:] {
		m, err := mail.ReadMessage(strings.NewReader(text))
		must(s.t, err)
		out = append(out, m)
	}
	return out
}

func text(t *testing.T, m *mail.Message) string {
	b, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	must(t, err)
	return string(b)
}

func notice(id int64, kind notify.Kind) notify.Notice {
	now := time.Now()
	n := notify.Notice{ID: id, Incident: 7, Kind: kind, Severity: gpumedic.SeverityCritical, Fault: "gpu-fell-off-bus", Class: "hardware",
		Subject: gpumedic.Subject{Node: "n1", GPU: gpumedic.GPU{PCI: "0000:3b:00.0"}, Process: gpumedic.Process{PID: 4711, Name: "训练 \"a\"\r\nBcc: x@example.com"}},
		Action:  "reboot_node", At: now, Opened: now, URL: "https://n1:9532/incidents/7",
		Texts: map[string]notify.Text{"zh": {Title: "GPU 掉卡", Headline: strings.Repeat("很长的一行文字，", 60) + "\n.\n句点之后"}}}
	if kind == notify.Closed {
		n.Closed = now
	}
	return n
}

// run starts a notifier with one mail channel.
func (s *server) run(ch notify.Channel) *notify.Notifier {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.t.TempDir(), "n.db")+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	must(s.t, err)
	ch.Name, ch.Type, ch.Language = "mail", "email", "zh"
	ch.From, ch.To = "GPU 监控 <gpumedic@example.com>", []string{"ops@example.com", "nobody@example.com", "张三 <zhang@example.com>"}
	ch.Username, ch.TLS.CAFile = "gpumedic", filepath.Join(s.dir, "cert.pem")
	ctx, cancel := context.WithCancel(s.t.Context())
	n, err := notify.New(ctx, db, &notify.Config{Channels: []notify.Channel{ch}}, slog.New(slog.NewTextHandler(s.t.Output(), nil)))
	must(s.t, err)
	done := make(chan struct{})
	go func() { _ = n.Run(ctx); close(done) }()
	s.t.Cleanup(func() { cancel(); <-done; db.Close() })
	return n
}

// TestMail: both ways of TLS; a recipient that the server does not know keeps the message
// from nobody else; opening and closing of an incident are one thread.
func TestMail(t *testing.T) {
	s := start(t)
	password := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(password, []byte("mailpassword\n"), 0o600))
	for i, c := range []struct{ security, address string }{{"starttls", s.starttls}, {"tls", s.tls}} {
		n := s.run(notify.Channel{SMTP: c.address, Security: c.security, PasswordFile: password})
		must(t, n.Put(t.Context(), notice(1, notify.Opened)))
		must(t, n.Put(t.Context(), notice(2, notify.Closed)))
		peers.Until(t, "two mails over "+c.security, func() bool { return len(s.mails()) == 2*(i+1) })
		list := s.mails()[2*i:]
		for _, m := range list {
			subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			must(t, err)
			body := text(t, m)
			if !strings.Contains(subject, "GPU 掉卡") || !strings.Contains(body, "https://n1:9532/incidents/7") || m.Header.Get("Bcc") != "" || m.Header.Get("Auto-Submitted") != "auto-generated" {
				t.Errorf("subject %q, header %v, body %s", subject, m.Header, body)
			}
			if _, err := m.Header.Date(); err != nil {
				t.Error(err)
			}
			from, err := m.Header.AddressList("From")
			must(t, err)
			to, err := m.Header.AddressList("To")
			must(t, err)
			if from[0].Name != "GPU 监控" || len(to) != 3 || to[2].Name != "张三" {
				t.Errorf("from %v to %v", from, to)
			}
		}
		if a, b := list[0].Header, list[1].Header; a.Get("References") == "" || a.Get("References") != b.Get("References") || a.Get("Message-ID") == b.Get("Message-ID") {
			t.Errorf("threads %v and %v", a, b)
		}
	}
}

// TestWrongPassword: it is said, nothing is lost, and the right one in the file is enough.
func TestWrongPassword(t *testing.T) {
	s := start(t)
	password := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(password, []byte("wrong\n"), 0o600))
	n := s.run(notify.Channel{SMTP: s.starttls, Security: "starttls", PasswordFile: password})
	must(t, n.Put(t.Context(), notice(1, notify.Opened)))
	peers.Until(t, "the server's refusal", func() bool {
		st, err := n.Stats(t.Context())
		must(t, err)
		return st[0].Failures > 0 && strings.Contains(st[0].Error, "535") && !strings.Contains(st[0].Error, "wrong")
	})
	must(t, os.WriteFile(password, []byte("mailpassword\n"), 0o600))
	peers.Until(t, "the mail", func() bool { return len(s.mails()) == 1 })
}
