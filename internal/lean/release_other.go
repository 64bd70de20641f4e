//go:build !linux

package lean

// Release does nothing here.
func Release() {}

// SmallPages does nothing here.
func SmallPages() {}
