package section

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamesAreDocumented holds docs/readings.md to the code: every name that a table
// of this package gives, that a rule uses, or that a recording yields stands there.
func TestNamesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/readings.md")
	if err != nil {
		t.Fatal(err)
	}
	var known []*regexp.Regexp
	for _, m := range regexp.MustCompile("`([a-z][^` ]*)`").FindAllStringSubmatch(string(doc), -1) {
		src := regexp.QuoteMeta(strings.ReplaceAll(m[1], `\|`, "|"))
		src = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(src, `[a-z0-9_./-]+`)
		known = append(known, regexp.MustCompile("^"+src+"$"))
	}
	documented := func(key string) bool {
		for _, re := range known {
			if re.MatchString(key) {
				return true
			}
		}
		return false
	}
	used := map[string]string{}
	for where, table := range map[string]map[string]string{
		"-q": smiTop, "-q sections": smiKeys, "-q ecc": smiECCKeys, "xml paths": xmlPaths, "xml tags": xmlTags,
		"csv": csvNames, "dmon": dmonNames, "pmon": pmonNames, "ib": ibNames, "version": smiVersionNames,
	} {
		for _, key := range table {
			used[key] = where
		}
	}
	for _, r := range rules(t) {
		for _, c := range r.When {
			for _, key := range []string{c.Key, c.LTKey, c.GEKey, c.NEKey} {
				used[key] = "rule " + r.ID
			}
		}
	}
	files, _ := filepath.Glob("testdata/*/*.in")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scan(string(b)) {
			for key := range s.Values {
				used[key] = f
			}
		}
	}
	delete(used, "")
	for _, key := range sortedKeys(used) {
		if !documented(key) {
			t.Errorf("%s (%s) is not in docs/readings.md", key, used[key])
		}
	}
}
