package scan

import (
	"os"
	"testing"
)

func BenchmarkZZFile(b *testing.B) {
	data, err := os.ReadFile(os.Getenv("ZZFILE"))
	if err != nil {
		b.Skip(err)
	}
	benchScan(b, data)
}
