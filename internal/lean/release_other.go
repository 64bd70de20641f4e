//go:build !linux

package lean

// Release does nothing here.
func Release() {}

// Settle does nothing here.
func Settle() {}
