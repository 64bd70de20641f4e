package web_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/web"
	"github.com/gpumedic/gpumedic/internal/web/webtest"
)

// document is openapi.yaml with a compiler of its schemas.
type document struct {
	raw     map[string]any
	schemas *jsonschema.Compiler
}

func (p *page) document() *document {
	p.Helper()
	var raw any
	if err := yaml.Unmarshal([]byte(p.get("/api/v1/openapi.yaml")), &raw); err != nil {
		p.Fatal(err)
	}
	b, err := json.Marshal(raw)
	if err != nil {
		p.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		p.Fatal(err)
	}
	d := &document{raw: doc.(map[string]any), schemas: jsonschema.NewCompiler()}
	// Clients must accept new fields; this test must not: one that is not described fails.
	for _, s := range d.at("components", "schemas").(map[string]any) {
		if m := s.(map[string]any); m["properties"] != nil {
			m["additionalProperties"] = false
		}
	}
	if err := d.schemas.AddResource("openapi.json", d.raw); err != nil {
		p.Fatal(err)
	}
	return d
}

func (d *document) at(keys ...string) any {
	var v any = d.raw
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

// valid checks an answer against what the document says of its route.
func (d *document) valid(t *testing.T, method, route string, w *httptest.ResponseRecorder) {
	t.Helper()
	got := d.at("paths", route, strings.ToLower(method), "responses", strconv.Itoa(w.Code))
	if got == nil {
		t.Errorf("%s %s answers %d, which the document does not have: %s", method, route, w.Code, w.Body)
		return
	}
	m := got.(map[string]any)
	if _, ok := m["$ref"]; ok {
		m = d.at("components", "responses", "Problem").(map[string]any)
	}
	for kind, media := range m["content"].(map[string]any) {
		if have := w.Header().Get("Content-Type"); have != kind {
			t.Errorf("%s %s: Content-Type %q, want %q", method, route, have, kind)
		}
		ref, ok := media.(map[string]any)["schema"].(map[string]any)["$ref"].(string)
		if !ok {
			continue
		}
		s, err := d.schemas.Compile("openapi.json" + ref)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(w.Body)
		if err != nil {
			t.Fatalf("%s %s: %v", method, route, err)
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("%s %s: %v", method, route, err)
		}
	}
}

func TestEveryRouteIsInTheDocument(t *testing.T) {
	p := over(t, webtest.Empty, nil)
	d := p.document()
	var want, have []string
	for _, r := range p.server.Routes() {
		if strings.HasPrefix(r[1], "/api/v1/") && r[1] != "/api/v1/" {
			want = append(want, r[0]+" "+r[1])
		}
	}
	for path, ops := range d.at("paths").(map[string]any) {
		for method := range ops.(map[string]any) {
			have = append(have, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		t.Errorf("routes:   %v\ndocument: %v", want, have)
	}
}

func TestAnswersAreAsDocumented(t *testing.T) {
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			p := over(t, scene, nil)
			d := p.document()
			asks := [][2]string{
				{"/api/v1/node", ""}, {"/api/v1/node", "?lang=zh"}, {"/api/v1/gpus", ""}, {"/api/v1/incidents", "?closed=1&all=1"}, {"/api/v1/incidents", "?limit=0"},
				{"/api/v1/history", ""}, {"/api/v1/silences", "?ended=1"}, {"/api/v1/sources", ""}, {"/api/v1/alerts", ""}, {"/api/v1/maintenance", ""},
				{"/api/v1/series", ""}, {"/api/v1/series", "?gpu=1&step=60"}, {"/api/v1/series", "?gpu=none"}, {"/api/v1/series", "?from=yesterday"}, {"/api/v1/series", "?step=0"},
				{"/api/v1/series", "?from=2001-01-01T00:00:00Z&step=1"},
			}
			for _, a := range asks {
				d.valid(t, "GET", a[0], p.ask("GET", a[0]+a[1], ""))
			}
			for _, id := range []string{"1", "2", "3", "999999", "x"} {
				d.valid(t, "GET", "/api/v1/incidents/{id}", p.ask("GET", "/api/v1/incidents/"+id, ""))
			}
			for _, card := range []string{"1650000000103", "0000:5d:00.0", "5d:00.0", "nothing"} {
				d.valid(t, "GET", "/api/v1/history/{name}", p.ask("GET", "/api/v1/history/"+card, ""))
			}
		})
	}
}

// TestEveryFieldIsInTheDocument: an answer of a test may lack a field that another has.
func TestEveryFieldIsInTheDocument(t *testing.T) {
	p := over(t, webtest.Empty, nil)
	d := p.document()
	for schema, v := range map[string]any{
		"NodeAnswer": web.NodeAnswer{}, "Incident": incident.Incident{}, "IncidentAnswer": web.IncidentAnswer{}, "Event": incident.Event{}, "Verification": incident.Verification{},
		"Evidence": incident.Evidence{}, "CheckResult": incident.CheckResult{}, "Finding": gpumedic.Finding{}, "EvidenceOut": gpumedic.EvidenceOut{}, "Consequence": gpumedic.Consequence{}, "NodeReport": report.Node{},
		"GPURow": report.GPU{}, "GPU": gpumedic.GPU{}, "Subject": gpumedic.Subject{}, "Source": web.Source{}, "Alert": web.Alert{}, "AlertsAnswer": web.AlertsAnswer{}, "Maintenance": web.Maintenance{}, "HistoryRow": incident.HistoryRow{}, "Card": incident.Card{},
		"Silence": incident.Silence{}, "ChangeEvent": web.ChangeEvent{}, "Series": web.Series{}, "Done": web.Done{}, "Problem": web.Problem{}, "Verdict": web.Verdict{}, "SilenceCommand": web.SilenceCommand{},
	} {
		props, _ := d.at("components", "schemas", schema, "properties").(map[string]any)
		have, want := map[string]bool{}, map[string]bool{}
		for k := range props {
			have[k] = true
		}
		fieldsOf(reflect.TypeOf(v), want)
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%s: document %v, type %v", schema, have, want)
		}
	}
}

func fieldsOf(t reflect.Type, out map[string]bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			e := f.Type
			if e.Kind() == reflect.Pointer {
				e = e.Elem()
			}
			fieldsOf(e, out)
		} else if name != "-" {
			out[name] = true
		}
	}
}

func TestCommandsAreAsDocumented(t *testing.T) {
	p := over(t, webtest.Lost, allowed)
	d := p.document()
	id := strconv.FormatInt(p.number("gpu-fell-off-bus"), 10)
	for _, c := range []struct {
		method, route, path, body string
		want                      int
	}{
		{"POST", "/api/v1/incidents/{id}/ack", "", `{"who":"li","why":"mine"}`, http.StatusOK},
		{"POST", "/api/v1/incidents/{id}/ack", "", `{}`, http.StatusConflict},
		{"POST", "/api/v1/incidents/{id}/close", "", `{"why":"done"}`, http.StatusConflict}, // not verified
		{"POST", "/api/v1/incidents/{id}/verify", "", `{}`, http.StatusOK},
		{"POST", "/api/v1/incidents/{id}/close", "", `{"why":"done"}`, http.StatusOK},
		{"POST", "/api/v1/incidents/{id}/reopen", "", `{"why":"again"}`, http.StatusOK},
		{"POST", "/api/v1/incidents/{id}/ack", "", `{"force":true}`, http.StatusBadRequest},
		{"POST", "/api/v1/incidents/{id}/ack", "", `{`, http.StatusBadRequest},
		{"POST", "/api/v1/incidents/{id}/ack", "", `{"why":"` + strings.Repeat("x", 20000) + `"}`, http.StatusRequestEntityTooLarge},
		{"POST", "/api/v1/incidents/{id}/ack", "/api/v1/incidents/4711/ack", `{}`, http.StatusNotFound},
		{"POST", "/api/v1/silences", "", `{"fault":"gpu-*","minutes":60,"why":"swap"}`, http.StatusOK},
		{"POST", "/api/v1/silences", "", `{"fault":"gpu-*","minutes":60}`, http.StatusUnprocessableEntity},
		{"POST", "/api/v1/silences", "", `{"fault":"gpu-*","why":"x"}`, http.StatusBadRequest},
		{"DELETE", "/api/v1/silences/{id}", "/api/v1/silences/2?why=done", "", http.StatusOK},
		{"DELETE", "/api/v1/silences/{id}", "/api/v1/silences/99", "", http.StatusNotFound},
	} {
		path := c.path
		if path == "" {
			path = strings.ReplaceAll(c.route, "{id}", id)
		}
		w := p.ask(c.method, path, c.body, asJSON)
		if w.Code != c.want {
			t.Errorf("%s %s %.80s: status %d, want %d: %s", c.method, path, c.body, w.Code, c.want, w.Body)
		}
		d.valid(t, c.method, c.route, w)
	}
	if w := p.ask("POST", "/api/v1/incidents/"+id+"/ack", "who=li", asForm); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("a form is taken as a command of the API: %d", w.Code)
	}
	events := p.get("/api/v1/incidents/" + id)
	for _, want := range []string{`"who":"li","why":"mine"`, `"kind":"verified"`, `"kind":"closed"`, `"kind":"reopened"`} {
		if !strings.Contains(events, want) {
			t.Errorf("the audit lacks %s: %s", want, events)
		}
	}
}
