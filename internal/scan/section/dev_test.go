package section

import (
	"fmt"
	"github.com/gpumedic/gpumedic"
	"os"
	"strings"
	"testing"
)

func TestDev(t *testing.T) {
	rs := rules(t)
	for _, f := range strings.Fields(os.Getenv("DEV")) {
		b, _ := os.ReadFile(f)
		sets := scan(string(b))
		fmt.Println("=====", f, len(sets), "sets")
		for _, s := range Judge(rs, sets) {
			if s.Level == gpumedic.LevelFact && os.Getenv("FACTS") == "" {
				continue
			}
			fmt.Println("   ", describe(s))
		}
		if os.Getenv("SETS") != "" {
			for _, s := range sets {
				fmt.Printf("  SET %s %+v\n", s.Tool, s.Subject.GPU)
				for _, k := range sortedKeys(s.Values) {
					fmt.Printf("     %s = %s\n", k, s.Values[k].Value)
				}
			}
		}
	}
}
