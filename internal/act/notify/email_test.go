package notify

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"
)

// mailServer is a small SMTP server: STARTTLS or TLS, AUTH PLAIN and LOGIN, and replies
// that a test chooses by the verb.
type mailServer struct {
	addr, ca string
	auth     string            // what EHLO offers
	reply    map[string]string // verb, or "RCPT address" → reply instead of 250
	user     string
	password string

	mu    sync.Mutex
	mails []string
	rcpts []string
	clear []string // commands that came without TLS
}

func startMail(t *testing.T, implicit bool) *mailServer {
	t.Helper()
	cert, ca := selfSigned(t)
	s := &mailServer{ca: ca, auth: "PLAIN LOGIN", reply: map[string]string{}, user: "gpumedic", password: "mailpassword"}
	conf := &tls.Config{Certificates: []tls.Certificate{cert}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if implicit {
					c = tls.Server(c, conf)
				}
				s.serve(c, conf, implicit)
			}()
		}
	}()
	return s
}

func (s *mailServer) serve(c net.Conn, conf *tls.Config, secure bool) {
	in := bufio.NewReader(c)
	say := func(f string, args ...any) { fmt.Fprintf(c, f+"\r\n", args...) }
	say("220 mail.test ready")
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		text = strings.TrimSpace(text)
		verb, _, _ := strings.Cut(strings.ToUpper(text), " ")
		s.mu.Lock()
		if !secure {
			s.clear = append(s.clear, verb)
		}
		s.mu.Unlock()
		if r, ok := s.reply[verb]; ok {
			say("%s", r)
			continue
		}
		switch verb {
		case "EHLO":
			say("250-mail.test")
			if !secure {
				say("250-STARTTLS")
			}
			say("250 AUTH %s", s.auth)
		case "STARTTLS":
			say("220 go on")
			c = tls.Server(c, conf)
			in, secure = bufio.NewReader(c), true
		case "AUTH":
			if !s.authenticate(text, in, say) {
				say("535 5.7.8 authentication failed")
				continue
			}
			say("235 ok")
		case "RCPT":
			a := text[strings.Index(text, "<")+1 : strings.Index(text, ">")]
			if r, ok := s.reply["RCPT "+a]; ok {
				say("%s", r)
				continue
			}
			s.mu.Lock()
			s.rcpts = append(s.rcpts, a)
			s.mu.Unlock()
			say("250 ok")
		case "DATA":
			say("354 go on")
			var b strings.Builder
			for {
				l, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if l == ".\r\n" {
					break
				}
				b.WriteString(strings.TrimPrefix(l, "."))
			}
			if r, ok := s.reply["TEXT"]; ok {
				say("%s", r)
				continue
			}
			s.mu.Lock()
			s.mails = append(s.mails, b.String())
			s.mu.Unlock()
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (s *mailServer) authenticate(text string, in *bufio.Reader, say func(string, ...any)) bool {
	ask := func(q string) string {
		say("334 %s", base64.StdEncoding.EncodeToString([]byte(q)))
		l, _ := in.ReadString('\n')
		b, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(l))
		return string(b)
	}
	f := strings.Fields(text)
	if f[1] == "LOGIN" {
		return ask("Username:") == s.user && ask("Password:") == s.password
	}
	b, _ := base64.StdEncoding.DecodeString(f[2])
	return string(b) == "\x00"+s.user+"\x00"+s.password
}

func selfSigned(t *testing.T) (tls.Certificate, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail.test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}

func mailChannel(t *testing.T, s *mailServer) Channel {
	return Channel{Name: "mail", Type: "email", SMTP: s.addr, From: "GPU watch <gpumedic@example.com>", To: []string{"ops@example.com", "张三 <zhang@example.com>"},
		Username: "gpumedic", PasswordFile: write(t, "password", "mailpassword\n"), TLS: TLS{CAFile: s.ca}, Language: "zh"}
}

func TestEmail(t *testing.T) {
	for _, c := range []struct {
		name, security, auth string
	}{{"starttls", "starttls", "PLAIN LOGIN"}, {"tls", "tls", "PLAIN"}, {"login only", "starttls", "LOGIN"}} {
		t.Run(c.name, func(t *testing.T) {
			s := startMail(t, c.security == "tls")
			s.auth = c.auth
			ch := mailChannel(t, s)
			ch.Security = c.security
			n := notice(1, 12, Opened)
			n.Subject.Node = "gpu-a7\r\nBcc: thief@example.com"
			if err := sendOne(t, ch, n); err != nil {
				t.Fatal(err)
			}
			if len(s.mails) != 1 || len(s.rcpts) != 2 {
				t.Fatalf("%d mails to %v", len(s.mails), s.rcpts)
			}
			m, err := mail.ReadMessage(strings.NewReader(s.mails[0]))
			if err != nil {
				t.Fatal(err)
			}
			subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			if err != nil || !strings.Contains(subject, "严重 · 新故障") {
				t.Errorf("subject %q (%v)", subject, err)
			}
			body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
			if err != nil || !strings.Contains(string(body), "命令：scontrol update") || !strings.Contains(string(body), "/incidents/12") {
				t.Errorf("body %s (%v)", body, err)
			}
			if m.Header.Get("Bcc") != "" {
				t.Error("a name became a header")
			}
			if m.Header.Get("Message-ID") != "<k-1@example.com>" || m.Header.Get("Auto-Submitted") != "auto-generated" || !strings.Contains(m.Header.Get("References"), "incident-12") {
				t.Errorf("headers %v", m.Header)
			}
			for _, verb := range s.clear {
				if verb == "AUTH" || verb == "MAIL" || verb == "DATA" {
					t.Errorf("%s in the clear", verb)
				}
			}
		})
	}
}

func TestEmailAnswers(t *testing.T) {
	for _, c := range []struct{ verb, reply, want string }{
		{"MAIL", "451 4.3.2 later", "no answer"},
		{"MAIL", "550 5.7.1 not you", "misconfigured"},
		{"TEXT", "452 4.2.2 mailbox full", "no answer"},
		{"TEXT", "554 5.7.1 spam", "refused"},
		{"STARTTLS", "454 4.7.0 TLS not available", "no answer"},
		{"RCPT ops@example.com", "450 4.2.1 greylisted", "no answer"}, // nobody gets it twice
		{"RCPT ops@example.com", "550 5.1.1 unknown user", "delivered"},
		{"RCPT", "550 5.1.1 unknown user", "misconfigured"},
	} {
		s := startMail(t, false)
		s.reply[c.verb] = c.reply
		if got := outcomeOf(sendOne(t, mailChannel(t, s))); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.verb, c.reply, got, c.want)
		}
		if strings.HasPrefix(c.reply, "45") && len(s.mails) > 0 {
			t.Errorf("%s %s: a message was handed over", c.verb, c.reply)
		}
	}
	s := startMail(t, false)
	ch := mailChannel(t, s)
	ch.PasswordFile = write(t, "password", "wrong")
	if err := sendOne(t, ch); outcomeOf(err) != "misconfigured" {
		t.Errorf("wrong password: %v", err)
	}
	ch.TLS = TLS{}
	if err := sendOne(t, ch); outcomeOf(err) != "misconfigured" || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown certificate: %v", err)
	}
	s.auth, ch = "", mailChannel(t, s)
	s.reply["EHLO"] = "250 mail.test"
	if err := sendOne(t, ch); outcomeOf(err) != "misconfigured" || !strings.Contains(err.Error(), "STARTTLS") {
		t.Errorf("no STARTTLS: %v", err)
	}
}

func TestEmailTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ch := Channel{Name: "mail", Type: "email", SMTP: l.Addr().String(), From: "a@example.com", To: []string{"b@example.com"}, Timeout: 100 * time.Millisecond}
	if err := sendOne(t, ch); outcomeOf(err) != "no answer" {
		t.Errorf("got %v", err)
	}
}
