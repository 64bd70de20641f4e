package source

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sortLogs orders the files of a folder: by folder, then by log, and within one
// log the rotated parts oldest first: syslog.2.gz, syslog.1, syslog. Numbers in
// names count as numbers: rank2 comes before rank10.
func sortLogs(files []string) {
	slices.SortFunc(files, func(a, b string) int {
		if c := naturalCompare(filepath.Dir(a), filepath.Dir(b)); c != 0 {
			return c
		}
		na, ra := rotation(filepath.Base(a))
		nb, rb := rotation(filepath.Base(b))
		if c := naturalCompare(na, nb); c != 0 {
			return c
		}
		if ra != rb {
			if ra < rb {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
}

// rotation splits a file name into the log's name and its age rank, lowest first
// (oldest). syslog is 0, syslog.1 is -1, syslog.2.gz is -2; logrotate's dated form
// syslog-20240611 counts below all numbers, by date.
func rotation(base string) (name string, rank int64) {
	name = base
	for _, ext := range []string{".gz", ".bz2", ".xz", ".zst", ".zstd", ".lz4"} {
		name = strings.TrimSuffix(name, ext)
	}
	if i := strings.LastIndexAny(name, ".-"); i > 0 && i+1 < len(name) {
		if n, err := strconv.ParseInt(name[i+1:], 10, 64); err == nil && n >= 0 {
			switch digits := len(name) - i - 1; {
			case name[i] == '.' && digits <= 4:
				return name[:i], -n
			case digits == 8 || digits == 10: // YYYYMMDD, YYYYMMDDHH or seconds
				return name[:i], n - 1<<60
			}
		}
	}
	if stem, ok := strings.CutSuffix(name, ".old"); ok { // dmesg.old, Xorg.0.log.old
		return stem, -1
	}
	return name, 0
}

// naturalCompare orders runs of digits by value.
func naturalCompare(a, b string) int {
	for a != "" && b != "" {
		da, db := digitRun(a), digitRun(b)
		if da > 0 && db > 0 {
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func digitRun(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// shortNames gives each input the shortest end of its path that no other has.
// Inputs of different nodes may still share a path: the node then goes in front.
func shortNames(ins []Input) {
	parts := make([][]string, len(ins))
	for i, in := range ins {
		if in.Path == "" {
			continue
		}
		parts[i] = strings.Split(strings.TrimSuffix(filepath.ToSlash(filepath.Clean(in.Path)), "/"), "/")
	}
	tail := func(i, n int) string { return strings.Join(parts[i][max(0, len(parts[i])-n):], "/") }
	depth := make([]int, len(ins))
	for i := range depth {
		depth[i] = 1 + ins[i].tail
	}
	for again := true; again; {
		again = false
		by := map[string][]int{}
		for i := range ins {
			if parts[i] != nil {
				by[tail(i, depth[i])] = append(by[tail(i, depth[i])], i)
			}
		}
		for _, same := range by {
			if len(same) == 1 {
				continue
			}
			for _, i := range same {
				if depth[i] < len(parts[i]) {
					depth[i]++
					again = true
				}
			}
		}
	}
	seen := map[string]bool{}
	for i := range ins {
		if parts[i] != nil {
			ins[i].Name = tail(i, depth[i])
		}
		if seen[ins[i].Name] && ins[i].Node != "" {
			ins[i].Name = ins[i].Node + "=" + ins[i].Name
		}
		seen[ins[i].Name] = true
	}
}
