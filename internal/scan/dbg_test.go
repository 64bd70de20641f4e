package scan

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpumedic/gpumedic/internal/source"
)

func TestDbg(t *testing.T) {
	glob := os.Getenv("DBG")
	if glob == "" {
		return
	}
	s, _ := embedded(t)
	files, _ := filepath.Glob(glob)
	for _, f := range files {
		res, _ := s.Scan(context.Background(), source.Expand([]string{f}, source.ExpandOptions{}), Options{})
		fmt.Printf("=== %s %+v\n", f, res.Inputs)
		for _, g := range res.Signals {
			fmt.Printf("  %d %s x%d [%s] %s node=%s gpu=%s port=%s pid=%d/%s t=%v..%v mono=%v mark=%q %v\n", g.Evidence.Line, g.Kind, g.Count, g.Level, "", g.Subject.Node, g.Subject.GPU, g.Subject.Port, g.Subject.Process.PID, g.Subject.Process.Name, g.First.Time.Format("2006-01-02T15:04:05"), g.Last.Time.Format("15:04:05"), g.First.Mono, g.Evidence.Text[g.Evidence.Mark[0]:min(g.Evidence.Mark[1], g.Evidence.Mark[0]+60)], "")
		}
	}
}
