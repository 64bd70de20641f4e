package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/gpumedic/gpumedic/internal/lang"
)

//go:embed templates/*.html
var templateFS embed.FS

// pageSet are the pages in one language.
type pageSet struct {
	lang  string
	named map[string]*template.Template
}

var pageNames = []string{"node", "gpu", "incidents", "incident", "cards", "history", "maintenance", "sources", "error"}

func (s *Server) parsePages(l string) (*pageSet, error) {
	set := &pageSet{lang: l, named: map[string]*template.Template{}}
	layout, err := template.New("layout.html").Funcs(s.funcs(l)).ParseFS(templateFS, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	for _, name := range pageNames {
		t, err := template.Must(layout.Clone()).ParseFS(templateFS, "templates/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("read template: %w", err)
		}
		set.named[name] = t
	}
	return set, nil
}

// funcs are what the templates may call. All texts of a template go through t.
func (s *Server) funcs(l string) template.FuncMap {
	o := s.texts(l)
	return template.FuncMap{
		"t":        func(en string, args ...any) string { return word(l, en, args...) },
		"pick":     func(en, zh string) string { return lang.Pick(l, en, firstOf(zh, en)) },
		"time":     s.timeTag,
		"zone":     s.zoneName,
		"day":      func(t time.Time) template.HTML { return timeTag(t, t.In(s.Zone).Format("2006-01-02")) },
		"ago":      func(now, t time.Time) template.HTML { return s.agoTag(l, now, t) },
		"span":     func(sec float64) string { return seconds(l, sec) },
		"pathesc":  url.PathEscape,
		"state":    o.State,
		"severity": o.Severity,
		"kind":     o.Kind,
		"marks":    o.Marks,
		"what":     o.What,
		"do":       o.Do,
		"why":      o.Why,
		"victim":   func(v []string) string { return strings.Join(v, " · ") },
		"term":     func(w string) string { return lang.Term(l, w) },
		"gpustate": func(w string) string { return gpuState(l, w) },
		"srcstate": func(w string) string { return sourceState(l, w) },
		"title":    s.faultTitle(l),
		"asset":    assetPath,
		"count":    thousands,
		"icon":     icon,
		"short":    shortPCI,
		"fig":      func(v *float64) string { return figure(v, 1) },
		"percent":  func(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) },
		"dict":     dict,
	}
}

// view is what every page has.
type view struct {
	Lang, Theme string
	Path        string // with query: where a preference leads back to
	Page        string
	Title       string
	Node        Node
	Verdict     Verdict
	Now         time.Time
	ReadOnly    bool
	Flash       string
	Live        bool // the script follows events
	Data        any
}

func (s *Server) view(r *http.Request, page, title string) *view {
	l := s.langOf(r)
	v := &view{Lang: l, Theme: "auto", Path: r.URL.RequestURI(), Page: page, Title: word(l, title), Node: s.Backend.Node(),
		Now: s.now(), ReadOnly: s.Actor == nil, Live: true}
	if c, err := r.Cookie("gpumedic_theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		v.Theme = c.Value
	}
	v.Verdict = s.verdict(r.Context(), l, v.Node)
	if done := r.URL.Query().Get("done"); done != "" {
		v.Flash = flash(l, done)
	}
	return v
}

// flash is what an action that succeeded says.
func flash(l, done string) string {
	switch done {
	case "ack":
		return word(l, "Acknowledged.")
	case "close":
		return word(l, "Closed.")
	case "reopen":
		return word(l, "Reopened.")
	case "verify":
		return word(l, "The checks have been started; their results will appear here.")
	case "silence":
		return word(l, "Silenced.")
	case "end-silence":
		return word(l, "The silence has been ended.")
	}
	return ""
}

// render writes a page, whole or not at all.
func (s *Server) render(w http.ResponseWriter, status int, v *view) {
	var b bytes.Buffer
	if err := s.pages[v.Lang].named[v.Page].ExecuteTemplate(&b, "layout.html", v); err != nil {
		s.Log.Error("write page", "page", v.Page, "error", err)
		http.Error(w, "write page: a defect of the page; the log of the daemon has more", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", map[string]string{"en": "en", "zh": "zh-CN"}[v.Lang])
	h.Set("Vary", "Accept-Language, Cookie")
	w.WriteHeader(status)
	w.Write(bytes.Map(visible, b.Bytes()))
}

// visible replaces what no text of the page has and a line of a log may: controls, and
// marks that turn the direction of what follows.
func visible(r rune) rune {
	if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || unicode.In(r, unicode.Bidi_Control) {
		return unicode.ReplacementChar
	}
	return r
}

// errorData is what the error page shows.
type errorData struct {
	Status   int
	Text     string
	Hint     string
	Back     string
	NotFound bool
}

func (s *Server) errorPage(w http.ResponseWriter, r *http.Request, status int, err error, hint, back string) {
	v := s.view(r, "error", "Not possible")
	v.Live = false
	if status == http.StatusNotFound {
		v.Title = word(v.Lang, "Not found")
	}
	if r.Method != http.MethodGet {
		v.Path = back // a preference must not send the form again
	}
	v.Data = errorData{status, err.Error(), word(v.Lang, hint), back, status == http.StatusNotFound}
	s.render(w, status, v)
}

// fail shows why a page cannot be shown.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, hint := statusOf(err)
	s.errorPage(w, r, status, err, hint, "/")
}

func (s *Server) pageUnknown(w http.ResponseWriter, r *http.Request) {
	s.errorPage(w, r, http.StatusNotFound, errors.New("find "+r.URL.Path+": no such page"), "", "/")
}

// prefs keeps language and theme in cookies: nothing of it is a secret.
func (s *Server) prefs(w http.ResponseWriter, r *http.Request) {
	keep := func(name, value string) {
		http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	if l := r.PostFormValue("lang"); lang.Known(l) {
		keep("gpumedic_lang", l)
	}
	if th := r.PostFormValue("theme"); th == "auto" || th == "light" || th == "dark" {
		keep("gpumedic_theme", th)
	}
	http.Redirect(w, r, local(r.PostFormValue("back")), http.StatusSeeOther)
}
