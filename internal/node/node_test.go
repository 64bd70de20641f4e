package node

import (
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
)

// compared runs Compare over lines "kind[!] field=value …" of one input ("!" is an
// abnormal one) and tells the kinds and levels that it adds.
func compared(lines ...string) string {
	var sigs []gpumedic.Signal
	for n, text := range lines {
		f := strings.Fields(text)
		kind, bad := strings.CutSuffix(f[0], "!")
		s := gpumedic.Signal{Kind: kind, Count: 1, Fields: map[string]string{}, Order: gpumedic.Order{Line: 10 + n},
			Evidence: gpumedic.Evidence{Input: "a.log", Line: 10 + n}}
		if bad {
			s.Level = gpumedic.LevelAbnormal
		}
		if kind == "kernel.unclean_boot" {
			s.Level = gpumedic.LevelNotice
		}
		for _, kv := range f[1:] {
			k, v, _ := strings.Cut(kv, "=")
			switch k {
			case "in":
				s.Evidence.Input = v
			case "node":
				s.Subject.Node = v
			case "at":
				s.Evidence.Line = 1
			default:
				s.Fields[k] = v
			}
		}
		sigs = append(sigs, s)
	}
	var out []string
	for _, s := range Compare(sigs) {
		out = append(out, s.Kind+":"+s.Level.String())
	}
	return strings.Join(out, " ")
}

func TestCompare(t *testing.T) {
	const low, open, seen = "host.gpu_count_low:abnormal", "kernel.unclean_reboot:abnormal", "kernel.unclean_reboot:notice"
	for _, c := range []struct {
		name string
		in   []string
		want string
	}{
		{"told to stop, then errors", []string{"proc.sigterm", "nccl.remote_error!"}, "proc.stopped_first:fact"},
		{"errors, then told to stop", []string{"nccl.remote_error!", "proc.sigterm"}, ""},
		{"errors in another log", []string{"proc.sigterm", "nccl.remote_error! in=b.log"}, ""},
		{"fewer than expected", []string{"host.gpu_expected expected=8", "host.gpu_counted found=7"}, low},
		{"as many as expected", []string{"host.gpu_expected expected=8", "host.gpu_counted found=8"}, ""},
		{"the least expected counts", []string{"host.gpu_expected expected=8", "host.gpu_expected expected=4", "host.gpu_counted found=4"}, ""},
		{"the expectation of another log", []string{"host.gpu_expected expected=8 in=b.log", "host.gpu_counted found=7"}, ""},
		{"the expectation of another node", []string{"host.gpu_expected expected=8 node=a", "host.gpu_counted found=7 node=b"}, ""},
		{"the journal says unclean", []string{"kernel.unclean_boot"}, open},
		{"said twice, told once", []string{"kernel.unclean_boot", "kernel.unclean_boot how=crash"}, open},
		{"a start without a stop", []string{"kernel.reboot", "kernel.log_service_started"}, open},
		{"a stop in order", []string{"kernel.shutdown", "kernel.reboot", "kernel.log_service_started"}, ""},
		{"an extract of the kernel's lines", []string{"kernel.reboot"}, ""},
		{"the beginning of the log", []string{"kernel.reboot at=1", "kernel.log_service_started"}, ""},
		{"something else is out of order", []string{"xid.79!", "kernel.unclean_boot"}, seen},
		{"the new driver alone fails", []string{"nvrm.driver_version version=580 node=a", "xid.119! node=a", "nvrm.driver_version version=570 node=b"}, "driver.version_fails_alone:fact"},
		{"both nodes of the new driver fail", []string{"nvrm.driver_version version=580 node=a", "xid.119! node=a", "smi.driver_version driver=580 node=c", "xid.109! node=c", "nvrm.driver_version version=570 node=b"}, "driver.version_fails_alone:fact driver.version_fails_alone:fact"},
		{"a quiet node has it too", []string{"nvrm.driver_version version=580 node=a", "xid.119! node=a", "nvrm.driver_version version=580 node=c", "nvrm.driver_version version=570 node=b"}, ""},
		{"the old one fails too", []string{"nvrm.driver_version version=580 node=a", "xid.119! node=a", "nvrm.driver_version version=570 node=b", "xid.119! node=b"}, ""},
		{"one version", []string{"nvrm.driver_version version=580 node=a", "xid.119! node=a", "nvrm.driver_version version=580 node=b"}, ""},
		{"a failing node of unknown version", []string{"nvrm.driver_version version=580 node=a", "xid.119! node=a", "nvrm.driver_version version=570 node=b", "xid.119! node=c"}, ""},
		{"no fault of the driver", []string{"nvrm.driver_version version=580 node=a", "xid.79! node=a", "nvrm.driver_version version=570 node=b"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := compared(c.in...); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
