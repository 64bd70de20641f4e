package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/replace"
)

// pack writes all that is known of the tests to one archive, for whoever decides about the
// card: the report, every outcome with all its records and samples, the driver's readings
// before and after, the kernel's lines of the time. gpumedic diagnose reads it again.
func (s *session) pack(path string, r *gpumedic.Report) error {
	doc, err := s.document()
	if err != nil {
		return err
	}
	asJSON := func(v any) []byte {
		b, err2 := json.MarshalIndent(v, "", " ")
		if err == nil {
			err = err2
		}
		return append(b, '\n')
	}
	files := []struct {
		name string
		data []byte
	}{
		{"report.json", asJSON(r)}, {"outcomes.json", asJSON(s.out)}, {s.run.task + ".txt", doc},
		{"before.txt", s.before}, {"after.txt", s.after}, {"kernel.log", s.kernel},
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	dir := fmt.Sprintf("gpumedic-%s-%s/", s.run.task, s.begun.UTC().Format("20060102T150405Z"))
	for _, f := range files {
		if len(f.data) == 0 {
			continue // no NVML, or a quiet kernel: an empty file would read as damage
		}
		h := &tar.Header{Name: dir + f.name, Mode: 0o644, Size: int64(len(f.data)), ModTime: time.Now().Truncate(time.Second)}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return replace.File(path, b.Bytes())
}
