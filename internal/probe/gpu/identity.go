package gpu

import (
	"fmt"

	"github.com/gpumedic/gpumedic/internal/driver/nvml"
)

// identity are names, versions and plain modes.
var identity = []question{
	// First what the library knows of a GPU without asking it.
	{"index", true, of((*nvml.NVML).Index)},
	{"name", true, of((*nvml.NVML).Name)},
	{"uuid", true, of((*nvml.NVML).UUID)},
	{"minor", true, of((*nvml.NVML).Minor)},
	{"serial", true, of((*nvml.NVML).Serial)},
	{"vbios.version", true, of((*nvml.NVML).VBIOS)},
	{"inforom.image", true, of((*nvml.NVML).InforomImage)},
	{"gsp.version", true, of((*nvml.NVML).GSPVersion)},
	{"board.part_number", false, of((*nvml.NVML).BoardPartNumber)},
	{"architecture", false, as((*nvml.NVML).Architecture, word(architectures))},
	{"brand", false, as((*nvml.NVML).Brand, word(brands))},
	{"gsp.mode", false, as((*nvml.NVML).GSPMode, enabled)},
	{"virtualization_mode", false, as((*nvml.NVML).VirtualizationMode, word(virtualization))},
	{"persistence_mode", true, as((*nvml.NVML).Persistence, enabled)},
	{"compute_mode", true, as((*nvml.NVML).ComputeMode, word(computeModes))},
	{"pstate", true, as((*nvml.NVML).PState, pstate)},
}

// Words of nvidia-smi for the driver's enumerations, in their lower case where the normal
// form is. A number that is not here is written as such: a newer driver has it.
var (
	architectures = map[uint32]string{
		2: "kepler", 3: "maxwell", 4: "pascal", 5: "volta", 6: "turing", 7: "ampere", 8: "ada lovelace", 9: "hopper", 10: "blackwell", 13: "rubin",
	}
	brands = map[uint32]string{
		1: "quadro", 2: "tesla", 3: "nvs", 4: "grid", 5: "geforce", 6: "titan", 7: "nvidia virtual applications", 8: "nvidia virtual pc",
		9: "nvidia virtual compute server", 10: "nvidia rtx virtual workstation", 11: "nvidia cloud gaming", 12: "quadro rtx", 13: "nvidia rtx", 14: "nvidia",
		15: "geforce rtx", 16: "titan rtx",
	}
	virtualization = map[uint32]string{0: "none", 1: "pass-through", 2: "vgpu", 3: "host vgpu", 4: "host vsga"}
	computeModes   = map[uint32]string{0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}
	recoveries     = map[uint32]string{
		nvml.RecoveryNone: "none", nvml.RecoveryReset: "reset", nvml.RecoveryReboot: "reboot", nvml.RecoveryDrainP2P: "drain_p2p",
		nvml.RecoveryDrainReset: "drain_reset", nvml.RecoveryIMEX: "recover_imex", nvml.RecoveryBusReset: "reset", nvml.RecoverySystemReboot: "reboot",
	}
)

func word(words map[uint32]string) func(uint32) string {
	return func(v uint32) string {
		if s, ok := words[v]; ok {
			return s
		}
		return fmt.Sprint(v)
	}
}

// pstate 32 is the driver's own word for not knowing.
func pstate(v uint32) string {
	if v > 15 {
		return ""
	}
	return fmt.Sprintf("P%d", v)
}

// inforom checks the board's stored data: a read of flash memory, so not in a hurry.
func (r *reader) inforom() {
	if !r.full {
		return
	}
	err := r.n.ValidateInforom(r.d)
	if nvml.CodeOf(err) == nvml.CorruptedInforom {
		r.w.Noted("inforom.checksum", "invalid", err.Error())
		return
	}
	r.put("inforom.checksum", "valid", err)
}

// modes are those that have a value now and one after the next reset.
func (r *reader) modes() {
	for _, m := range []struct {
		key string
		get func(*nvml.NVML, nvml.Device) (bool, bool, error)
	}{{"mig.mode", (*nvml.NVML).MigMode}, {"ecc.mode", (*nvml.NVML).ECCMode}} {
		if r.gone {
			return
		}
		now, then, err := m.get(r.n, r.d)
		r.noECC = err == nil && !now || nvml.IsAbsent(err) // ECC comes last
		if err != nil {
			r.putAll(err, m.key+".current", m.key+".pending")
			continue
		}
		r.w.Value(m.key+".current", enabled(now))
		r.w.Value(m.key+".pending", enabled(then))
	}
}

// recovery is the driver's own verdict on what the GPU needs. Drivers before it had two
// flags.
func (r *reader) recovery() {
	v, err := r.n.Field(r.d, nvml.FieldRecoveryAction)
	r.put("recovery_action", word(recoveries)(uint32(v.Uint())), err)
	if r.gone || !nvml.IsAbsent(err) {
		return
	}
	old, err := r.n.Fields(r.d, nvml.Field{ID: nvml.FieldResetStatus}, nvml.Field{ID: nvml.FieldDrainAndResetStatus})
	if err != nil {
		r.putAll(err, "reset_required", "drain_reset_recommended")
		return
	}
	flag := func(v nvml.FieldValue) any { return v.Uint() != 0 }
	r.field("reset_required", old[0], flag)
	r.field("drain_reset_recommended", old[1], flag)
}
