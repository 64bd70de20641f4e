//go:build e2e

package browser

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gpumedic/gpumedic/internal/web"
	"github.com/gpumedic/gpumedic/internal/web/webtest"
)

var paths = []string{"/", "/incidents?closed=1", "/incidents/1", "/gpus/3", "/gpus/5", "/history", "/history/1650000000103", "/history/0000:5d:00.0", "/maintenance", "/sources"}

// TestClean: every page loads without an error on the console and without a request to
// another host; at the width of a phone nothing stands out on the side.
func TestClean(t *testing.T) {
	for name, scene := range map[string]func(string) (*webtest.Scene, error){"lost": webtest.Lost, "healthy": webtest.Healthy, "empty": webtest.Empty} {
		_, base := serve(t, scene, true)
		b := open(t, base)
		for _, path := range paths {
			if name != "lost" && (strings.HasPrefix(path, "/incidents/") || strings.HasPrefix(path, "/gpus/") || strings.HasPrefix(path, "/history/")) {
				continue
			}
			for _, width := range []int64{320, 390, 768, 940, 1360} {
				b.run(chromedp.EmulateViewport(width, 900))
				b.open(path)
				if over := eval[int](b, "document.scrollingElement.scrollWidth - innerWidth"); over > 0 {
					t.Errorf("%s, %s: %d px stand out at %d px: %s", name, path, over, width, eval[string](b, `[...document.querySelectorAll("main *, header *, footer *")].filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll, .vh")).map(e => e.outerHTML.slice(0, 60)).slice(0, 3).join(" | ")`))
				}
			}
			b.wait("the page is live", `document.getElementById("live").dataset.state === "live"`)
		}
	}
}

// TestAccessible runs axe on every page, light and dark, in both languages.
func TestAccessible(t *testing.T) {
	axe := axeCore(t)
	_, base := serve(t, webtest.Lost, true)
	b := open(t, base)
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for _, l := range []string{"en", "zh"} {
			for _, path := range paths {
				sep := "?"
				if strings.Contains(path, "?") {
					sep = "&"
				}
				b.open(path + sep + "lang=" + l)
				b.run(chromedp.Evaluate(axe, nil))
				var out string
				b.run(chromedp.Evaluate(`axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations.map(v => v.id + " (" + v.impact + "): " + v.help + ": " + v.nodes.map(n => n.target + " " + n.any.map(a => a.message)).slice(0, 4).join(" | "))))`, &out, awaited))
				var list []string
				if err := json.Unmarshal([]byte(out), &list); err != nil {
					t.Fatal(err)
				}
				for _, v := range list {
					t.Errorf("%s %s %s: %s", scheme, l, path, v)
				}
			}
		}
	}
}

func axeCore(t *testing.T) string {
	f, err := os.Open("testdata/axe/axe.min.js.gz")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + ";0"
}

// TestKeyboard walks through the page with the tab key: it begins with the way to the
// content, reaches everything that can be used, and where it stands can be seen.
func TestKeyboard(t *testing.T) {
	_, base := serve(t, webtest.Lost, true)
	b := open(t, base)
	for _, path := range []string{"/", "/incidents/1"} {
		b.open(path)
		b.wait("the buttons are there", `!document.querySelector("button[data-copy]")?.hidden || location.pathname === "/"`)
		b.run(chromedp.KeyEvent(kb.Tab))
		if got := eval[string](b, "document.activeElement.className"); got != "skip" {
			t.Errorf("%s: the first stop is %q", path, got)
		}
		want := eval[int](b, `[...document.querySelectorAll("a[href], button:not(:disabled), input:not([type=hidden]), select, summary, [tabindex='0']")].filter(e => e.checkVisibility()).length`)
		seen := 1
		for ; seen < want+5; seen++ {
			b.run(chromedp.KeyEvent(kb.Tab))
			if eval[bool](b, "document.activeElement === document.body") {
				break
			}
			if eval[bool](b, `(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 2; })()`) {
				t.Errorf("%s: the focus cannot be seen on %s", path, eval[string](b, "document.activeElement.outerHTML.slice(0, 120)"))
			}
		}
		if seen != want {
			t.Errorf("%s: %d stops of %d", path, seen, want)
		}
	}
	b.open("/")
	b.run(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	if got := eval[string](b, "document.activeElement.id"); got != "main" {
		t.Errorf("the skip link leads to %q", got)
	}
}

func TestLanguageAndTheme(t *testing.T) {
	_, base := serve(t, webtest.Lost, false)
	b := open(t, base)
	dark := `(() => { const c = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number); return c[0] + c[1] + c[2] < 200; })()`
	b.scheme("dark")
	b.open("/sources")
	if !eval[bool](b, dark) {
		t.Error("what the system prefers does nothing")
	}
	b.run(chromedp.Click(`button[value=light]`), chromedp.WaitReady(`html[data-theme=light]`))
	if eval[bool](b, dark) {
		t.Error("light is dark")
	}
	b.scheme("light")
	b.run(chromedp.Click(`button[value=dark]`), chromedp.WaitReady(`html[data-theme=dark]`))
	if !eval[bool](b, dark) {
		t.Error("dark is light")
	}
	b.run(chromedp.Click(`button[value=zh]`), chromedp.WaitReady(`html[lang=zh-CN]`))
	if got := eval[string](b, "location.pathname"); got != "/sources" {
		t.Errorf("the switch leads to %s", got)
	}
	b.open("/") // it stays
	b.run(chromedp.WaitReady(`html[lang=zh-CN][data-theme=dark]`))
	if got := eval[string](b, `document.querySelector("h2").textContent`); got != "未关闭的事件" {
		t.Errorf("heading %q", got)
	}
}

// TestLive: readings, changes and the end of the connection come to the page by
// themselves, and are told to who listens.
func TestLive(t *testing.T) {
	s, base := serve(t, webtest.Lost, true)
	b := open(t, base)
	b.open("/")
	b.wait("the page is live", `document.getElementById("live").dataset.state === "live"`)
	row := `document.querySelector("[data-row='` + strings.ReplaceAll(s.Info.Report.GPUs[0].UUID, "'", "") + `']")`
	line := eval[string](b, row+`.querySelector("svg[data-measure=temperature_c] .line").getAttribute("d")`)
	list := s.Next(1)
	hot := 88.0
	list[0].Temperature, list[0].State = &hot, "warning"
	s.Hub.Readings(s.Now, list)
	b.wait("the temperature is there", row+`.querySelector("[data-value=temperature_c]").textContent === "88"`)
	b.wait("the line goes on", row+`.querySelector("svg[data-measure=temperature_c] .line").getAttribute("d") !== "`+line+`"`)
	b.wait("the state is there", row+`.querySelector(".state .w").textContent === "warning"`)

	id := int64(0)
	for n, f := range s.Findings {
		if f.Fault == "illegal-address" {
			id = n
		}
	}
	if err := s.Ack(t.Context(), id, "li", "mine"); err != nil {
		t.Fatal(err)
	}
	b.wait("the list is new", `document.querySelector("a[href='/incidents/`+strconv.FormatInt(id, 10)+`']").closest("li, .verdict").textContent.includes("acknowledged")`)
	b.wait("it is told", `document.getElementById("news").textContent.includes("incident `+strconv.FormatInt(id, 10)+` · acknowledged")`)
	s.Feeds[0].State = web.SourceDown
	s.Hub.Publish(web.Update{Sources: s.Feeds})
	b.wait("the source is down", `document.querySelector(".chips").textContent.includes("down")`)
}

// TestLost: an end of the connection is told.
func TestLost(t *testing.T) {
	_, base, stop := serveStop(t, webtest.Healthy, false)
	b := open(t, base)
	b.tolerant = true
	b.open("/")
	b.wait("the page is live", `document.getElementById("live").dataset.state === "live"`)
	stop()
	b.wait("the loss is told", `document.getElementById("live").textContent.includes("no connection to the daemon")`)
}

// TestActions: acknowledge, verify and close with the buttons of the page.
func TestActions(t *testing.T) {
	s, base := serve(t, webtest.Lost, true)
	b := open(t, base)
	for n, f := range s.Findings {
		if f.Fault == "illegal-address" {
			b.open("/incidents/" + strconv.FormatInt(n, 10))
		}
	}
	for _, c := range []struct{ button, says string }{{`#actions button:not([formaction])`, "Acknowledged."}, {`button[formaction$=verify]`, "The checks have been started"}, {`button[formaction$=close]`, "Closed."}} {
		b.run(chromedp.SendKeys(`input[name=who]`, "li"), chromedp.Click(c.button))
		b.wait("the page says "+c.says, fmt.Sprintf("document.querySelector('.flash')?.textContent.includes(%q)", c.says))
	}
	if got := eval[string](b, `document.querySelector(".life [aria-current]").textContent`); got != "closed" {
		t.Errorf("it is %s", got)
	}
}

// TestCopy: the button gives the whole command.
func TestCopy(t *testing.T) {
	_, base := serve(t, webtest.Lost, false)
	b := open(t, base)
	b.open("/incidents/1")
	b.run(input.SetIgnoreInputEvents(false), chromedp.WaitVisible(`button[data-copy]`), chromedp.Click(`button[data-copy]`))
	b.wait("it says so", `/copied|could not copy/.test(document.querySelector("button[data-copy]").textContent)`)
}

// TestWithoutScript: the page can be read, and its forms work, with scripts switched off.
func TestWithoutScript(t *testing.T) {
	_, base := serve(t, webtest.Lost, false)
	b := open(t, base)
	b.run(emulation.SetScriptExecutionDisabled(true))
	b.open("/")
	var body, line string
	var ok bool
	b.run(chromedp.Text("main", &body), chromedp.AttributeValue(`svg[data-measure=power_w] .line`, "d", &line, &ok))
	for _, want := range []string{"FAULT", "GPU 0000:5d:00.0 fell off the PCIe bus", "GPU 7"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if len(line) < 100 {
		t.Errorf("no line is drawn: %q", line)
	}
	b.run(chromedp.Click(`button[value=zh]`), chromedp.WaitReady(`html[lang=zh-CN]`))
}
