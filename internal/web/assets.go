package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed static
var staticFS embed.FS

type asset struct {
	kind string
	body []byte
}

// assets are the embedded files by a name that holds their hash: a browser may keep them
// for ever, and never has an old one.
var assets = sync.OnceValue(func() map[string]asset {
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	out := map[string]asset{}
	list, err := staticFS.ReadDir("static")
	if err != nil {
		panic(err) // embedded
	}
	for _, f := range list {
		b, err := staticFS.ReadFile("static/" + f.Name())
		if err != nil {
			panic(err)
		}
		out[hashed(f.Name(), b)] = asset{kinds[path.Ext(f.Name())], b}
	}
	return out
})

func hashed(name string, body []byte) string {
	sum := sha256.Sum256(body)
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
}

// assetPath is the address of an embedded file.
func assetPath(name string) (string, error) {
	b, err := staticFS.ReadFile("static/" + name)
	return "/static/" + hashed(name, b), err
}

func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	a, ok := assets()[r.PathValue("name")]
	if !ok {
		s.pageUnknown(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Write(a.body)
}

func (s *Server) favicon(w http.ResponseWriter, _ *http.Request) {
	b, err := staticFS.ReadFile("static/icon.svg")
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Write(b)
}
