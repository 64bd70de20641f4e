package offline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUntimedTracebackTakesTheDayOfItsLines: a GPU's fault of weeks ago is not why a job
// died today, even where the traceback states no time, since the lines around it do. Where
// the job's log states no time at all, nothing can be said against the GPU.
func TestUntimedTracebackTakesTheDayOfItsLines(t *testing.T) {
	const kern = "Apr 02 03:11:07 gpu-a12 kernel: [86412.102030] NVRM: Xid (PCI:0000:3b:00): 48, pid=9911, name=python3, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 4, subpartition 1.\n"
	const job = `2026-04-25 09:00:00,123 INFO train: start
2026-04-25 09:10:00,123 INFO train: step 100 loss 2.1
Traceback (most recent call last):
  File "/home/u/train.py", line 20, in <module>
    main()
  File "/home/u/model.py", line 44, in forward
    y = self.emb(x)
RuntimeError: CUDA error: unspecified launch failure
`
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	bare := job[strings.Index(job, "Traceback"):]
	for _, c := range []struct {
		name, kern, job, want string
	}{
		{"weeks before", kern, job, "kernel-launch-failure"},
		{"in the same minutes", strings.Replace(kern, "Apr 02 03:11:07", "Apr 25 09:10:02", 1), job, "ecc-uncorrectable"},
		{"no time in the job's log", kern, bare, "ecc-uncorrectable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := diagnoseFiles(t, write("kern.log", c.kern), write("job.log", c.job))
			if len(r.Findings) == 0 || r.Findings[0].Fault != c.want {
				t.Fatalf("findings %+v, want %s first", r.Findings, c.want)
			}
			for _, f := range r.Findings {
				for _, e := range f.Evidence {
					if strings.HasPrefix(e.Text, "RuntimeError") && e.At != "" {
						t.Errorf("a time was made up for %q: %s", e.Text, e.At)
					}
				}
			}
		})
	}
}
