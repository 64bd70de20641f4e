package decode

import (
	"fmt"
	"strconv"
	"strings"
)

// collective reads the counters of a process group's watchdog: how long a collective
// ran, and whether the rank that speaks was waiting or had not come yet.
func (d *Decoder) collective(f *fields) {
	for _, name := range []string{"timeout", "ran", "waited"} {
		if s := seconds(f.get(name + "_ms")); s != "" {
			f.set(name+"_s", s)
		}
	}
	f.set("op", strings.ToUpper(f.get("op_name")))
	if n := f.get("numel_in"); n == "1" || n == "0" {
		f.set("scalar", "yes") // a barrier, a flag or a loss: nothing that takes time itself
	}
	enq, ok1 := atoi(f.get("last_enqueued"))
	done, ok2 := atoi(f.get("last_completed"))
	if !ok1 || !ok2 {
		return
	}
	if enq >= done {
		f.set("pending", strconv.Itoa(enq-done))
	}
	switch {
	case done < 0 && enq > 0:
		f.set("first_collective", "yes") // none has ever ended: start-up, not a late step
		f.set("late", "no")
	case enq > done:
		f.set("late", "no")
	case enq == done && enq >= 0:
		// Nothing is under way here while others wait: this rank has not come.
		f.set("late", "yes")
	}
}

// seconds turns milliseconds into seconds without a useless fraction.
func seconds(ms string) string {
	n, err := strconv.ParseFloat(ms, 64)
	if err != nil || n < 0 || n > 1e12 {
		return ""
	}
	return strconv.FormatFloat(n/1000, 'f', -1, 64)
}

func plainVersion(major, minor, patch int) string {
	return fmt.Sprintf("%d.%d.%d", major, minor, patch)
}
