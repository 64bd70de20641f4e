package lean

import (
	"os"

	"golang.org/x/sys/unix"
)

// Release gives the pages back. What it cannot, it leaves.
func Release() {
	file, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	spans := cleanSpans(f, file)
	f.Close()
	for _, s := range spans {
		// Where the page cache holds huge pages, one touch would map all of one again. A
		// refusal leaves things as they are.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(s.from), uintptr(s.to-s.from), unix.MADV_NOHUGEPAGE)
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(s.from), uintptr(s.to-s.from), unix.MADV_DONTNEED)
	}
}

// SmallPages keeps the kernel from backing this process, and what it starts, with huge
// pages: a heap of a few MiB would take a page of 2 MiB for each bit of it in use.
func SmallPages() {
	_ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) // a kernel without it has them or has not
}
