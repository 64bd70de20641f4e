//go:build e2e

package browser

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/gpumedic/gpumedic/internal/web"
	"github.com/gpumedic/gpumedic/internal/web/webtest"
)

// serve runs the page over a scene on a port of its own.
func serve(t *testing.T, make func(string) (*webtest.Scene, error), actions bool) (*webtest.Scene, string) {
	t.Helper()
	s, base, _ := serveStop(t, make, actions)
	return s, base
}

// serveStop gives a way to end the server before the test does.
func serveStop(t *testing.T, make func(string) (*webtest.Scene, error), actions bool) (*webtest.Scene, string, func()) {
	t.Helper()
	s, err := make(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := s.Config()
	if actions {
		c.Actor = s
	}
	h, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := web.NewHTTP(h)
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close(); s.Store.Close() })
	return s, "http://" + l.Addr().String(), func() { srv.Close() }
}

// tab is a browser tab that remembers what went wrong in it and what it asked for.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	tolerant bool // errors of the console are what the test makes

	mu      sync.Mutex
	errors  []string
	foreign []string
}

func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium on this machine (Debian: apt-get install chromium)")
	return ""
}

func open(t *testing.T, base string) *tab {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.Flag("lang", "en-US"))
	alloc, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	b := &tab{t: t, base: base}
	b.ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	chromedp.ListenTarget(b.ctx, b.listen)
	b.run(network.Enable(), log.Enable(), runtime.Enable(), chromedp.EmulateViewport(1360, 900))
	t.Cleanup(b.clean)
	return b
}

// listen keeps errors of the console and requests to anywhere else.
func (b *tab) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			b.errors = append(b.errors, fmt.Sprintf("console %s: %v", e.Type, e.Args))
		}
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, "exception: "+e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			b.errors = append(b.errors, "log: "+e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" && !strings.HasPrefix(e.Request.URL, b.base+"/") {
			b.foreign = append(b.foreign, e.Request.URL)
		}
	}
}

// clean fails a test whose page wrote errors or asked another host.
func (b *tab) clean() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		if !b.tolerant {
			b.t.Error(e)
		}
	}
	for _, u := range b.foreign {
		b.t.Error("request to elsewhere:", u)
	}
}

func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) open(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.base+path), chromedp.WaitReady("main"))
}

// eval returns the value of an expression of the page.
func eval[T any](b *tab, js string) T {
	b.t.Helper()
	var v T
	b.run(chromedp.Evaluate(js, &v))
	return v
}

// awaited takes the value of a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// wait waits until an expression of the page is true; the page may change meanwhile.
func (b *tab) wait(what, js string) {
	b.t.Helper()
	for range 200 {
		var ok bool
		if err := chromedp.Run(b.ctx, chromedp.Evaluate(js, &ok)); err == nil && ok {
			return
		}
		if err := chromedp.Run(b.ctx, chromedp.Sleep(100*time.Millisecond)); err != nil {
			b.t.Fatalf("wait until %s: %v", what, err)
		}
	}
	b.t.Fatalf("waited in vain until %s", what)
}

// picture keeps a screenshot in $SCREENSHOTS, for people to look at.
func (b *tab) picture(name string, width, height int64) {
	b.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	var png []byte
	b.run(chromedp.EmulateViewport(width, height), chromedp.Sleep(300*time.Millisecond),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			shot := page.CaptureScreenshot()
			if height == 0 {
				shot = shot.WithCaptureBeyondViewport(true)
			}
			png, err = shot.Do(ctx)
			return err
		}))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// scheme sets what the system prefers.
func (b *tab) scheme(value string) {
	b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}))
}
