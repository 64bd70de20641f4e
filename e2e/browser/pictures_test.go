//go:build e2e

package browser

import (
	"os"
	"strconv"
	"testing"

	"github.com/gpumedic/gpumedic/internal/web/webtest"
)

// TestPictures makes screenshots for people to look at; SCREENSHOTS names the folder.
func TestPictures(t *testing.T) {
	if os.Getenv("SCREENSHOTS") == "" {
		t.Skip("SCREENSHOTS names no folder")
	}
	s, base := serve(t, webtest.Lost, true)
	id := "0"
	for n, f := range s.Findings {
		if f.Fault == "gpu-fell-off-bus" {
			id = strconv.FormatInt(n, 10)
		}
	}
	pages := map[string]string{"node": "/", "incidents": "/incidents", "incident": "/incidents/" + id, "gpu": "/gpus/5", "history": "/history/1650000000103",
		"cards": "/history", "maintenance": "/maintenance", "sources": "/sources", "missing": "/incidents/999"}
	tall := map[string]int64{"node": 1180, "incident": 1900, "incidents": 760, "gpu": 900}
	b := open(t, base)
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for name, path := range pages {
			b.open(path)
			h := tall[name]
			if h == 0 {
				h = 620
			}
			b.picture(name+"-"+scheme, 1360, h)
			b.open(path + "?lang=zh")
			if scheme == "dark" && (name == "node" || name == "incident") {
				b.picture(name+"-zh-"+scheme, 1360, h)
			}
			if scheme == "light" && (name == "node" || name == "incident" || name == "maintenance") {
				b.picture(name+"-zh-phone", 390, 1700)
			}
		}
	}
	_, broken := serve(t, webtest.Broken, false)
	b2 := open(t, broken)
	b2.open("/")
	b2.picture("broken", 1360, 620)
	_, storm := serve(t, webtest.Storm, false)
	b3 := open(t, storm)
	b3.open("/")
	b3.picture("storm", 1360, 1000)
}
