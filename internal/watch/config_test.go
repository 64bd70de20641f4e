package watch

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestConfigSaysWhatIsWrongAndWhere(t *testing.T) {
	for text, want := range map[string]string{
		"node: a b\n":                                      "line 1: node:",
		"language: en\nstore: incidents.db\n":              "line 2: store:",
		"gpus:\n  interval: 1ms\n":                         "line 2: gpus.interval:",
		"gpus:\n  intervall: 1s\n":                         "line 2:",
		"window: soon\n":                                   "line 1:",
		"web:\n  listen: [nowhere]\n":                      "line 2: web.listen:",
		"job_logs:\n  paths: ['[']\n":                      "line 2: job_logs.paths:",
		"notifications:\n  channels:\n    - name: x\n":     "line 3: notifications.channels[0]",
		"language: xx\n":                                   "line 1: language:",
		"kernel: [\n":                                      "line",
		"gpus: {quick_every: 500ms}\nhost:\n  interval: 0": "line 1: gpus.quick_every:",
	} {
		_, err := ParseConfig([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
}

func TestConfigReadsBackWhatItPrints(t *testing.T) {
	c, err := ParseConfig([]byte("node: n7\nwindow: 2h\nexpect: {gpus: 8}\njob_logs: {paths: [/a/*.out]}\nnotifications:\n  channels:\n    - {name: x, type: webhook, url: 'https://h/p'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Node != "n7" || c.Window != 2*time.Hour || *c.Expect.GPUs != 8 || c.GPUs.Interval != time.Second {
		t.Errorf("%+v", c)
	}
	var b bytes.Buffer
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	if d, err := ParseConfig(b.Bytes()); err != nil || d.Notify.Channels[0].URL != "https://h/p" || *d.Expect.GPUs != 8 {
		t.Errorf("%v; what it printed:\n%s", err, b.String())
	}
	for _, text := range []string{"", "# nothing\n"} {
		d, err := ParseConfig([]byte(text))
		if err != nil || !reflect.DeepEqual(d, Defaults()) {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
	b.Reset()
	if err := Defaults().Print(&b); err != nil {
		t.Fatal(err)
	}
	if d, err := ParseConfig(b.Bytes()); err != nil || d.Check() != nil || d.Web.Listen[0] != DefaultListen {
		t.Errorf("the printed defaults read back as %+v, %v", d, err)
	}
}

// TestConfigIsDocumented: every field of the printed configuration stands in docs/watch.md.
func TestConfigIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(prefix string, v reflect.Type)
	walk = func(prefix string, v reflect.Type) {
		for n := range v.NumField() {
			name, _, _ := strings.Cut(v.Field(n).Tag.Get("yaml"), ",")
			full := prefix + name
			if ft := v.Field(n).Type; ft.Kind() == reflect.Struct && name != "notifications" {
				walk(full+".", ft)
				continue
			}
			short := full[strings.LastIndexByte(full, '.')+1:]
			if !regexp.MustCompile("`(" + regexp.QuoteMeta(full) + "|\\." + regexp.QuoteMeta(short) + ")`").Match(doc) {
				t.Errorf("%s is not in docs/watch.md", full)
			}
		}
	}
	walk("", reflect.TypeOf(Config{}))
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("node: n7\nweb:\n  listen: ['127.0.0.1:1']\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := ParseConfig(text); err == nil && c.Check() != nil {
			t.Errorf("accepted %q, and wrong afterwards: %v", text, c.Check())
		}
	})
}
