package watch

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the documents of the benchmark anew")

// TestDocuments: what the fake driver gives can be read back whole.
func TestDocuments(t *testing.T) {
	full, vital := documents(t)
	if n := len(parseDoc(full)); n != 9 {
		t.Errorf("%d subjects in the full document, want the node and eight GPUs", n)
	}
	if n := len(parseDoc(vital)); n != 8 {
		t.Errorf("%d subjects in the vital document, want eight GPUs", n)
	}
	if *update {
		for name, doc := range map[string][]byte{"full": full, "vital": vital} {
			if err := os.WriteFile("testdata/"+name+".readings", doc, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
