package section

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func ptr[T any](v T) *T { return &v }

// pid reads a process id; 0 when there is none.
func pid(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 || n > 1<<22 {
		return 0
	}
	return n
}

// baseName is the last part of a path of either system.
func baseName(s string) string {
	if i := strings.LastIndexAny(s, `/\`); i >= 0 && i+1 < len(s) {
		return s[i+1:]
	}
	return s
}
