package notify

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// file is a daemon's configuration as far as this package knows it.
type file struct {
	Listen        string `yaml:"listen"`
	Notifications Config `yaml:"notifications"`
}

func load(text string) (*file, error) {
	var f file
	err := yaml.Load([]byte(text), &f, yaml.WithKnownFields())
	return &f, err
}

func TestConfigErrorsHaveLines(t *testing.T) {
	f, err := load(`listen: 127.0.0.1:9400
notifications:
  language: fr
  on_expiry: forget
  channels:
    - name: a
      type: pager
    - name: b c
      type: slack
      url: https://hooks.slack.example/x
    - name: d
      type: webhook
      url: https://user:pw@receiver.example/in
      smtp: mail:25
      match:
        - min_severity: worst
          kind: [gone]
          node: ["["]
    - name: d
      type: feishu
    - name: e
      type: email
      smtp: mail
      security: none
      username: u
      from: nobody
    - name: f
      type: exec
      command: [hook.sh]
      quiet: {from: "22:00", to: "25:00"}
    - name: g
      type: webhook
      url_file: relative
      url_env: ALSO
    - name: h
      type: alertmanager
      url: https://am.example/?token=x
      labels: {"bad-name": x}
      timeout: -1s
`)
	if err != nil {
		t.Fatal(err)
	}
	err = f.Notifications.Validate()
	var ps Problems
	if !errors.As(err, &ps) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		`line 3: language: unknown language "fr" (known: en, zh)`,
		`line 4: on_expiry: "forget" is neither send nor drop`,
		`line 7: channels[0].type: unknown type "pager" (known: alertmanager, webhook, slack, feishu, dingtalk, wecom, email, exec)`,
		`line 8: channels[1].name: "b c": use letters, digits, dot, dash and underscore, at most 64`,
		`line 10: channels[1].url: the address of a slack robot is a secret: use url_file or url_env`,
		`line 13: channels[2].url: holds a password: use url_file or url_env, or username and password_file`,
		`line 14: channels[2].smtp: has no meaning for webhook`,
		`line 16: channels[2].match[0].min_severity: unknown severity "worst" (known: info, warning, error, critical)`,
		`line 17: channels[2].match[0].kind: unknown kind "gone"`,
		`line 16: channels[2].match[0]: "[" is not a pattern`,
		`line 19: channels[3].name: "d" is the name of an earlier channel`,
		`line 20: channels[3].type: feishu needs an address: url_file or url_env`,
		`line 23: channels[4].smtp: "mail" is not host:port`,
		`line 26: channels[4].from: "nobody" is not an address`,
		`channels[4].to: is missing`,
		`line 25: channels[4].username: username and password_file (or password_env) belong together`,
		`line 29: channels[5].command: "hook.sh" is not an absolute path`,
		`line 30: channels[5].quiet: to: "25:00" is not a time of day`,
		`line 33: channels[6].url_file: "relative" is not an absolute path`,
		`line 34: channels[6].url_env: set either url_file or url_env`,
		`line 37: channels[7].url: holds a query`,
		`line 38: channels[7].labels: "bad-name" is not a label name`,
		`line 39: channels[7].timeout: must not be negative`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("lacks: %s", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}

func TestUnknownFieldsAreRefused(t *testing.T) {
	for _, text := range []string{
		"notifications:\n  channels:\n    - name: a\n      type: slack\n      token: xoxb-secret\n",
		"notifications:\n  chanels: []\n",
	} {
		_, err := load(text)
		if err == nil || !strings.Contains(err.Error(), "line") {
			t.Errorf("%q: got %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "xoxb") {
			t.Errorf("the error shows the value: %v", err)
		}
	}
}

// TestDocumentedConfigs: every example of the documentation is valid, and each type has one.
func TestDocumentedConfigs(t *testing.T) {
	b, err := os.ReadFile("../../../docs/notifications.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(b), -1)
	for _, m := range blocks {
		text := m[1]
		if !strings.HasPrefix(text, "notifications:") {
			text = "notifications:\n  channels:\n    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
		}
		f, err := load(text)
		if err == nil {
			err = f.Notifications.Validate()
		}
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
			continue
		}
		for _, ch := range f.Notifications.Channels {
			have[ch.Type] = true
		}
	}
	for _, want := range types {
		if !have[want] {
			t.Errorf("no example for %s", want)
		}
		if _, ok := specs[want]; !ok {
			t.Errorf("type %s has no spec", want)
		}
	}
}

func TestPrintedConfig(t *testing.T) {
	c := Config{Channels: []Channel{{Name: "a", Type: "webhook", URL: "https://u:hidden1@h.example/in?k=hidden2",
		Command: []string{"/bin/x", "--api-token=hidden3", "https://h/?t=hidden4", "plain"}}}}
	b, err := yaml.Dump(c.Masked())
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); strings.Contains(s, "hidden") || !strings.Contains(s, "h.example/in") || !strings.Contains(s, "plain") {
		t.Errorf("printed:\n%s", s)
	}
	var back Config
	if err := yaml.Load(b, &back, yaml.WithKnownFields()); err != nil {
		t.Errorf("what is printed cannot be read: %v\n%s", err, b)
	}
	if c.Channels[0].Command[1] != "--api-token=hidden3" {
		t.Error("masking changed the configuration itself")
	}
}

func TestQuietUntil(t *testing.T) {
	at := func(zone, s string) time.Time {
		l, err := time.LoadLocation(zone)
		if err != nil {
			t.Skipf("no time zones on this machine: %v", err)
		}
		v, err := time.ParseInLocation("2006-01-02 15:04", s, l)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		q               Quiet
		zone, now, want string
	}{
		{Quiet{From: "22:00", To: "07:00"}, "Asia/Shanghai", "2026-03-04 21:59", ""},
		{Quiet{From: "22:00", To: "07:00"}, "Asia/Shanghai", "2026-03-04 22:00", "2026-03-05 07:00"},
		{Quiet{From: "22:00", To: "07:00"}, "Asia/Shanghai", "2026-03-05 06:59", "2026-03-05 07:00"},
		{Quiet{From: "22:00", To: "07:00"}, "Asia/Shanghai", "2026-03-05 07:00", ""},
		{Quiet{From: "12:00", To: "13:30"}, "Asia/Shanghai", "2026-03-05 12:30", "2026-03-05 13:30"},
		{Quiet{From: "22:00", To: "07:00", Days: []string{"fri"}}, "Asia/Shanghai", "2026-03-07 03:00", "2026-03-07 07:00"},
		{Quiet{From: "22:00", To: "07:00", Days: []string{"fri"}}, "Asia/Shanghai", "2026-03-08 03:00", ""},
		// The night in which the clock goes from 02:00 to 03:00.
		{Quiet{From: "22:00", To: "07:00"}, "Europe/Berlin", "2026-03-28 23:00", "2026-03-29 07:00"},
		{Quiet{From: "22:00", To: "07:00"}, "Europe/Berlin", "2026-10-25 05:00", "2026-10-25 07:00"},
	} {
		c.q.Zone = c.zone
		h, err := c.q.compile()
		if err != nil {
			t.Fatal(err)
		}
		got := h.until(at(c.zone, c.now))
		if c.want == "" && !got.IsZero() || c.want != "" && !got.Equal(at(c.zone, c.want)) {
			t.Errorf("%+v at %s: until %s, want %q", c.q, c.now, got, c.want)
		}
	}
}
