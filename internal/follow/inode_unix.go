//go:build unix

package follow

import (
	"io/fs"
	"syscall"
)

// identity tells one file from another under the same path.
func identity(st fs.FileInfo) (dev, ino uint64) {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), uint64(s.Ino)
	}
	return 0, 0
}
