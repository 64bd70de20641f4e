package host

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// mountKey marks the guard's keys that are mounts and no paths to read.
const mountKey = "mount:"

// watched are the file systems that jobs and the driver cannot do without.
var watched = []string{"/", "/tmp", "/dev/shm", "/var"}

// usage is what statfs says of a file system.
type usage struct {
	total, free, available uint64 // bytes
	files, filesFree       uint64
	readOnly               bool
	id                     string // equal for one file system
}

// A mount is a line of /proc/self/mounts.
type mount struct{ source, point, kind string }

// mounts writes the fill of the watched file systems. One on the network may hang.
func (h *prober) mounts() {
	if !h.live() {
		return
	}
	table := map[string]mount{}
	if s, err := h.read("/proc/self/mounts"); err == nil {
		for _, m := range parseMounts(s) {
			table[m.point] = m
		}
	}
	seen := map[string]bool{}
	for _, point := range watched {
		u, err := guarded(h.tree, mountKey+point, func() (usage, error) { return statfs(h.at(point)) })
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err == nil && u.id != "" {
			if seen[u.id] {
				continue // /tmp is a folder of /
			}
			seen[u.id] = true
		}
		h.about("mount", point)
		h.w.Value("mount", point)
		if m, ok := table[point]; ok {
			h.w.Value("source", m.source)
			h.w.Value("mount.type", m.kind)
		}
		h.fill(u, err)
	}
}

func (h *prober) fill(u usage, err error) {
	switch {
	case err != nil:
		failed(h.w, "disk.used.percent", "the file system", err)
		return
	case u.total == 0:
		h.w.Absent("disk.used.percent", "the file system states no size")
		return
	case u.readOnly:
		h.w.Absent("disk.used.percent", "mounted read-only")
	default:
		used := u.total - u.free
		h.w.Value("disk.used.percent", percent(used, used+u.available))
		if u.files > 0 {
			h.w.Value("disk.inodes.used.percent", percent(u.files-u.filesFree, u.files))
		}
	}
	h.w.Value("disk.total.mib", u.total>>20)
	h.w.Value("disk.used.mib", (u.total-u.free)>>20)
	h.w.Value("disk.available.mib", u.available>>20)
}

// percent rounds down: 100 means that nothing is left.
func percent(part, whole uint64) uint64 {
	if whole == 0 {
		return 0
	}
	p := uint64(float64(part) * 100 / float64(whole))
	return min(p, 100)
}

// parseMounts reads /proc/self/mounts; later lines cover earlier ones.
func parseMounts(s string) []mount {
	var out []mount
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) >= 4 {
			out = append(out, mount{unescapeMount(f[0]), unescapeMount(f[1]), f[2]})
		}
	}
	return out
}

// unescapeMount undoes the octal escapes of blanks and backslashes.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
