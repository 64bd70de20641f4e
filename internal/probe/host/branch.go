package host

import (
	"encoding/json"
	"strconv"
	"strings"
)

// branch writes which branch the driver is of, how long NVIDIA supports it, and what the
// CUDA toolkit on this machine asks of it.
func (h *prober) branch() {
	if h.Tables == nil {
		return
	}
	h.about("node", "")
	number, _, _ := strings.Cut(h.module, ".")
	if n, err := strconv.Atoi(number); err == nil {
		h.w.Value("driver.branch", n)
		h.support(n)
	}
	version := h.toolkit()
	if version == "" {
		return
	}
	h.w.Value("toolkit.version", version)
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil {
		if f, ok := h.Tables.CUDAFloor(n); ok {
			h.w.Value("toolkit.driver_floor", f.Branch)
		}
	}
}

func (h *prober) support(number int) {
	b, ok := h.Tables.DriverBranch(number)
	if !ok {
		h.w.Absent("driver.branch.type", "the branch is not in our table")
		return
	}
	h.w.Value("driver.branch.type", b.Type)
	switch {
	case b.Ended:
		h.w.Value("driver.branch.supported", "no")
	case b.End.IsZero():
		h.w.Absent("driver.branch.days_left", "NVIDIA names no date")
	case !h.Now.IsZero():
		h.w.Value("driver.branch.eol", b.End.Format("2006-01"))
		days := int(b.End.Sub(h.Now).Hours() / 24)
		h.w.Value("driver.branch.days_left", days)
		h.w.Value("driver.branch.supported", h.Now.Before(b.End))
	}
}

// toolkit reads the version of /usr/local/cuda.
func (h *prober) toolkit() string {
	s, err := h.read("/usr/local/cuda/version.json")
	if err != nil {
		return ""
	}
	var v map[string]struct {
		Version string `json:"version"`
	}
	if json.Unmarshal([]byte(s), &v) != nil {
		return ""
	}
	f := strings.SplitN(v["cuda"].Version, ".", 3)
	if len(f) < 2 {
		return ""
	}
	return f[0] + "." + f[1]
}
