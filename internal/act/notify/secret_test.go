package notify

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// TestSecretsStaySecret lets every channel fail in every way it can, with receivers that
// repeat the request, and looks for the secrets in all that is logged, stored or printed.
func TestSecretsStaySecret(t *testing.T) {
	secrets := map[string]string{
		"path": "s3cr3tpathelement", "query": "s3cr3t query&value", "token": "s3cr3t-token", "sign": "SECs3cr3tsign", "password": "s3cr3t/pass+word",
	}
	echo := func(status int) func(*receiver) func(int, http.ResponseWriter) {
		return func(r *receiver) func(int, http.ResponseWriter) {
			return func(n int, w http.ResponseWriter) {
				q := r.got[n-1]
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"errcode":310000,"code":19021,"errmsg":%q,"msg":%q}`, q.path+"?"+q.query+" "+fmt.Sprint(q.header), string(q.body))
			}
		}
	}
	behaviours := map[string]func(*receiver) func(int, http.ResponseWriter){
		"200": echo(200), "400": echo(400), "401": echo(401), "500": echo(500), "302": echo(302),
		"cut off": func(*receiver) func(int, http.ResponseWriter) {
			return func(_ int, w http.ResponseWriter) {
				c, _, err := w.(http.Hijacker).Hijack()
				if err == nil {
					c.Close()
				}
			}
		},
		"slow": func(*receiver) func(int, http.ResponseWriter) {
			return func(int, http.ResponseWriter) { time.Sleep(150 * time.Millisecond) }
		},
	}
	for name, behave := range behaviours {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, false, nil)
			r.answer = behave(r)
			address := r.URL + "/hook/" + secrets["path"] + "?access_token=s3cr3t+query%26value"
			urlFile, sign := write(t, "url", address), write(t, "sign", secrets["sign"])
			t.Setenv("NOTIFY_TEST_TOKEN", secrets["token"])
			c := Config{Channels: []Channel{
				{Name: "slack", Type: "slack", URLFile: urlFile},
				{Name: "feishu", Type: "feishu", URLFile: urlFile, SecretFile: sign},
				{Name: "dingtalk", Type: "dingtalk", URLFile: urlFile, SecretFile: sign},
				{Name: "wecom", Type: "wecom", URLFile: urlFile},
				{Name: "webhook", Type: "webhook", URLFile: urlFile, TokenEnv: "NOTIFY_TEST_TOKEN", SecretFile: sign},
				{Name: "am", Type: "alertmanager", URLFile: urlFile, Username: "u", PasswordFile: write(t, "pw", secrets["password"])},
			}}
			for i := range c.Channels {
				c.Channels[i].Timeout = 100 * time.Millisecond
			}
			g := newRig(t, c)
			g.put(notice(1, 12, Opened))
			var seen strings.Builder
			for i := range c.Channels {
				for range 3 {
					g.drain(i)
					g.at = g.at.Add(20 * time.Minute)
				}
				if err := g.Trial(t.Context(), c.Channels[i].Name); err != nil {
					seen.WriteString(err.Error())
				}
			}
			stats, err := g.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			shown, err := yaml.Dump(g.conf.Masked())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&seen, "%+v\n%s\n%s\n%s", stats, g.log, shown, dump(t, g))
			assertClean(t, seen.String(), secrets)
			if !strings.Contains(seen.String(), "failed") && !strings.Contains(seen.String(), "refused") && name != "200" {
				t.Error("nothing failed: the test sees nothing")
			}
		})
	}
}

func assertClean(t *testing.T, text string, secrets map[string]string) {
	t.Helper()
	for k, v := range secrets {
		for _, part := range []string{v, "s3cr3t"} {
			if i := strings.Index(text, part); i >= 0 {
				t.Fatalf("secret %s is shown: …%s…", k, text[max(0, i-100):min(len(text), i+60)])
			}
		}
	}
}

func dump(t *testing.T, g *rig) string {
	t.Helper()
	var out strings.Builder
	for _, q := range []string{`SELECT channel || ' ' || error FROM notify_delivery`, `SELECT name || ' ' || error FROM notify_channel`, `SELECT body FROM notify_alert`} {
		rows, err := g.db.Query(q)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			io.WriteString(&out, s+"\n")
		}
		rows.Close()
	}
	return out.String()
}

func TestMailPasswordStaysSecret(t *testing.T) {
	s := startMail(t, false)
	s.password = "other"
	s.reply["AUTH"] = "535 no, not AUTH PLAIN AGdwdW1lZGljAG1haWxwYXNzd29yZA== or mailpassword"
	err := sendOne(t, mailChannel(t, s))
	if err == nil || strings.Contains(err.Error(), "mailpassword") || strings.Contains(err.Error(), "AGdwdW1l") {
		t.Errorf("got %v", err)
	}
}

func TestSecretPlaces(t *testing.T) {
	t.Setenv("NOTIFY_EMPTY", "")
	for _, c := range []struct {
		ch   Channel
		want string
	}{
		{Channel{URLFile: "/nonexistent/url"}, "read url_file"},
		{Channel{URLEnv: "NOTIFY_EMPTY"}, "NOTIFY_EMPTY is empty"},
		{Channel{URLEnv: "NOTIFY_UNSET_VARIABLE"}, "NOTIFY_UNSET_VARIABLE is empty"},
		{Channel{URLFile: write(t, "two", "https://a.example/secretone\nhttps://b.example/secrettwo\n")}, "more than one line"},
	} {
		_, err := c.ch.secrets()
		if outcomeOf(err) != "misconfigured" || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secretone") {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestSecretIsReadAgain: an operator corrects a file, and no restart is needed.
func TestSecretIsReadAgain(t *testing.T) {
	r := newReceiver(t, false, nil)
	path := write(t, "url", "")
	g := newRig(t, Config{Channels: []Channel{{Name: "s", Type: "slack", URLFile: path}}})
	g.put(notice(1, 1, Opened))
	if d := g.drain(0); d != 10*time.Second {
		t.Errorf("waits %s", d)
	}
	if err := writeFile(path, r.URL+"/hook/abcdefgh"); err != nil {
		t.Fatal(err)
	}
	g.at = g.at.Add(time.Minute)
	g.drain(0)
	if len(r.requests()) != 1 {
		t.Error("not delivered")
	}
}
