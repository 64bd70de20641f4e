package offline

import (
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
)

func TestYearsComeFromSiblingInputs(t *testing.T) {
	at := func(y int, m time.Month, d int) gpumedic.Signal {
		s := gpumedic.Stamp{Time: time.Date(y, m, d, 10, 0, 0, 0, time.UTC)}
		return gpumedic.Signal{First: s, Last: s}
	}
	sigs := []gpumedic.Signal{at(2026, 1, 2), at(0, 1, 2), at(0, 12, 31), {}}
	fillYears(sigs)
	for i, want := range []string{"2026-01-02", "2026-01-02", "2025-12-31", "0001-01-01"} {
		if got := sigs[i].First.Time.Format("2006-01-02"); got != want {
			t.Errorf("signal %d is dated %s, want %s", i, got, want)
		}
	}
	alone := []gpumedic.Signal{at(0, 1, 2)}
	fillYears(alone)
	if alone[0].First.Dated() {
		t.Error("a year was made up where no input states one")
	}
}
