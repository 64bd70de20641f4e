package probe

import "time"

// A Sample is one look at a GPU's sensors: package sensors writes them, a line of JSON
// each, and a test keeps them. What could not be read is missing.
type Sample struct {
	PCI         string    `json:"pci,omitempty"`
	At          time.Time `json:"at"`
	Power       float64   `json:"power_w,omitempty"`
	SMClock     int       `json:"sm_mhz,omitempty"`
	MemoryClock int       `json:"memory_mhz,omitempty"`
	Temperature int       `json:"gpu_c,omitempty"`
	MemoryTemp  int       `json:"memory_c,omitempty"`
	Reasons     []string  `json:"reasons,omitempty"` // clocks_event_reasons that were active
	LinkGen     int       `json:"pcie_gen,omitempty"`
	LinkWidth   int       `json:"pcie_width,omitempty"`
	Corrected   uint64    `json:"ecc_corrected,omitempty"`
	Uncorrected uint64    `json:"ecc_uncorrected,omitempty"`
}
