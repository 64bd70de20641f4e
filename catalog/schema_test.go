package catalog

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/gpumedic/gpumedic/internal/golden"
)

// enums are the fields with fixed words, by struct and yaml name.
var enums = map[string][]string{
	"Fault.layer": layers, "Fault.severity": severities, "Fault.scope": scopes, "Fault.action": Actions,
	"Clue.strength": strengths[1:], "Clue.relation": relations[1:], "Explains.relation": relations[1:],
	"CauseText.likelihood": likelihood, "RemedyText.risk": risks,
	"Matcher.level": levels[1:], "Matcher.origin": origins[1:], "ReadingRule.level": levels[1:],
}

var needed = map[string][]string{
	"Fault":       {"id", "layer", "class", "component", "severity", "action", "scope", "title", "headline", "summary", "triggers", "causes", "remedies", "verify", "sources"},
	"Matcher":     {"id", "kind", "literals", "pattern", "meaning", "sources", "examples"},
	"ReadingRule": {"id", "kind", "when", "meaning"},
	"RemedyText":  {"step", "risk"}, "CheckText": {"check"}, "Example": {"line"},
}

// schemaOf derives a JSON schema from a Go type, so that editors know exactly what the
// loader accepts.
func schemaOf(t reflect.Type, defs map[string]any) any {
	switch {
	case t == reflect.TypeFor[Duration]():
		return map[string]any{"type": "string", "pattern": `^[0-9.]+(ns|us|ms|s|m|h)([0-9.]+(ns|us|ms|s|m|h))*$`}
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem(), defs)
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), defs)}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": []string{"string", "number", "boolean"}}}
	case t.Kind() == reflect.String:
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.Int:
		return map[string]any{"type": "integer"}
	case t.Kind() == reflect.Float64:
		return map[string]any{"type": "number"}
	}
	if _, done := defs[t.Name()]; !done {
		defs[t.Name()] = nil
		props := map[string]any{}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
			if name == "" || name == "-" {
				continue
			}
			s := schemaOf(t.Field(i).Type, defs)
			if e := enums[t.Name()+"."+name]; e != nil {
				s = map[string]any{"enum": e}
			}
			props[name] = s
		}
		def := map[string]any{"type": "object", "additionalProperties": false, "properties": props}
		if n := needed[t.Name()]; n != nil {
			def["required"] = n
		}
		defs[t.Name()] = def
	}
	return map[string]any{"$ref": "#/$defs/" + t.Name()}
}

func TestSchemas(t *testing.T) {
	for name, tc := range map[string]struct {
		typ   reflect.Type
		files []string
	}{
		"fault":    {reflect.TypeFor[Fault](), allFiles(t, "faults")},
		"signals":  {reflect.TypeFor[SignalFile](), allFiles(t, "signals")},
		"readings": {reflect.TypeFor[ReadingFile](), allFiles(t, "readings")},
	} {
		defs := map[string]any{}
		root := schemaOf(tc.typ, defs).(map[string]any)
		root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		root["title"] = "gpumedic catalog: " + name
		root["$defs"] = defs
		want, err := json.MarshalIndent(root, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		file := "schema/" + name + ".schema.json"
		golden.Check(t, file, want)
		validateFiles(t, want, tc.files)
	}
}

func validateFiles(t *testing.T, schema []byte, files []string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := fs.ReadFile(embedded, f)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := yaml.Load(b, &v); err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		j, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(j))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(inst); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func allFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := glob(embedded, dir, ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return files
}
