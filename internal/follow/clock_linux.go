package follow

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the time since boot as the kernel stamps its records: without suspend.
func monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
