package host

import (
	"path"
	"strings"
)

// ibCounters are the counters of a port that tell of errors. Most count since the
// driver was loaded; those of the old interface stop at their ceiling (link_downed at 255).
var ibCounters = []string{
	"counters/link_downed", "counters/link_error_recovery", "counters/symbol_error", "counters/local_link_integrity_errors",
	"counters/excessive_buffer_overrun_errors", "counters/port_rcv_errors", "counters/port_rcv_remote_physical_errors",
	"counters/port_xmit_discards", "counters/port_xmit_wait", "counters/VL15_dropped",
	"hw_counters/out_of_sequence", "hw_counters/packet_seq_err", "hw_counters/local_ack_timeout_err", "hw_counters/out_of_buffer",
	"hw_counters/rnr_nak_retry_err", "hw_counters/roce_slow_restart", "hw_counters/roce_adp_retrans", "hw_counters/roce_adp_retrans_to",
	"hw_counters/req_cqe_error", "hw_counters/resp_cqe_error", "hw_counters/rx_icrc_encapsulated",
}

// ib writes the ports of the InfiniBand and RoCE adapters.
func (h *prober) ib() {
	const dir = "/sys/class/infiniband"
	for _, dev := range h.list(dir) {
		at := path.Join(dir, dev)
		ca, _ := h.read(path.Join(at, "hca_type"))
		for _, port := range h.list(path.Join(at, "ports")) {
			h.about("nic", dev+"/"+port)
			h.w.Value("ib.device", dev)
			h.w.Value("ib.port", port)
			if ca != "" {
				h.w.Value("ib.ca_type", ca)
			}
			h.ibPort(path.Join(at, "ports", port))
		}
	}
}

func (h *prober) ibPort(dir string) {
	for _, f := range [][2]string{{"ib.state", "state"}, {"ib.phys_state", "phys_state"}} {
		s, err := h.read(path.Join(dir, f[1]))
		if err != nil {
			failed(h.w, f[0], f[1], err)
			continue
		}
		if _, word, ok := strings.Cut(s, ": "); ok { // "4: ACTIVE"
			s = word
		}
		h.w.Value(f[0], strings.ToLower(strings.TrimSpace(s)))
	}
	if s, err := h.read(path.Join(dir, "rate")); err == nil { // "400 Gb/sec (4X NDR)"
		rate, _, _ := strings.Cut(s, " ")
		h.w.Noted("ib.rate.gbps", rate, s)
	}
	if s, err := h.read(path.Join(dir, "link_layer")); err == nil {
		h.w.Value("ib.link_layer", s)
	}
	for _, c := range ibCounters {
		if n, err := h.number(path.Join(dir, c)); err == nil {
			h.w.Value("ib.counter."+strings.ToLower(path.Base(c)), n)
		}
	}
}
