package lean

import (
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// piece is how much comes back at a touch. Smaller pieces would give back more, but each
// costs the kernel some 200 bytes.
const piece = 16 << 10

// spans finds the program's mappings, once, and parts them.
var spans = sync.OnceValue(func() []span {
	file, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil
	}
	defer maps.Close()
	list := programSpans(maps, file)
	for _, s := range list {
		// Where the page cache holds huge pages, one touch would map all of one again. A
		// refusal leaves things as they are.
		advise(s, unix.MADV_NOHUGEPAGE)
		for at := s.from + piece; at < s.to; at += 2 * piece { // the file's head stays in dumps
			if advise(span{at, min(at+piece, s.to)}, unix.MADV_DONTDUMP) != nil {
				break
			}
		}
	}
	return list
})

func advise(s span, advice uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(s.from), uintptr(s.to-s.from), advice); errno != 0 {
		return errno
	}
	return nil
}

// Release gives the pages back. What it cannot, it leaves.
func Release() {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return
	}
	defer f.Close()
	page := uint64(os.Getpagesize())
	for _, s := range spans() {
		entries := make([]byte, 8*(s.to-s.from)/page)
		if n, err := f.ReadAt(entries, int64(8*s.from/page)); err == nil && n == len(entries) && asInFile(entries) {
			_ = advise(s, unix.MADV_DONTNEED)
		}
	}
}

// timerSlack is how late a timer may be: nothing here is in more of a hurry.
const timerSlack = 1_000_000 // ns

// Settle sets up a process that waits most of the time. It begins with the threads that
// are there, others have it from them.
//
// The thread of Go's scheduler that watches over the others sleeps 20 us at a time for as
// long as one of them works: with that each piece of work of a millisecond costs as much
// again for watching it. Where timers may be late it looks once or twice. The kernel lets
// root alone ask this for other threads than the calling one.
func Settle() {
	smallPages()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		_ = os.WriteFile("/proc/"+t.Name()+"/timerslack_ns", strconv.AppendInt(nil, timerSlack, 10), 0) // then it is woken more often
	}
}

// smallPages keeps the kernel from backing this process, and what it starts, with huge
// pages: a heap of a few MiB would take a page of 2 MiB for each bit of it in use.
func smallPages() {
	_ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) // a kernel without it has them or has not
}
