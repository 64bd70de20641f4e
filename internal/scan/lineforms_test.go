package scan

import (
	"os"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
)

// lineForms says what each row of testdata/line-forms.tsv means, by NVIDIA's Xid
// catalogue, the driver's and the kernel's source: kind, then field=value of what the
// line states. Several signals of a row are separated by ";".
var lineForms = map[string]string{
	"1":  "xid.14 gpu=0000:03:00.0 level=fact",
	"2":  "xid.154 gpu=0000:3b:00.0 recovery=reset",
	"3":  "xid.154 gpu=0000:3b:00.0 recovery=reboot",
	"4":  "xid.13 pid=4321 process=python3 gpc=3 tpc=1 sm=0 exception_kind=out_of_range_address",
	"5":  "xid.13 gpu=0000:3b:00.0 exception=esr",
	"6":  "xid.48 gpu=0000:3b:00.0 pid= process=",
	"7":  "xid.64 detail=inforom_write",
	"8":  "xid.119 pid=2145 process=python timeout_s=45 function=76",
	"9":  "xid.120 pid= detail=task_exception",
	"10": "xid.74 link=14 severity=fatal",
	"11": "xid.145 link=10 unit=rlw_src_track severity=nonfatal xc=1 injected=no",
	"12": "xid.149 gpu=0018:01:00.0 link=8 unit=netir_link_evt severity=fatal",
	"13": "xid.999 catalogued=no pid=1 process=x level=abnormal",
	"14": "xid.171 location=dram",
	"15": "xid.43 gpu=0000:3b:00.0 pid=",
	"16": "xid.43 gpu=0000:3b:00.0 pid=99 process=a,b",
	"17": "xid.79 uuid=GPU-e1a2b3c4-0000-0000-0000-000000000000",
	"18": "nvrm.fallen_off_bus gpu=0000:3b:00.0",
	"19": "nvrm.fallen_off_bus gpu=0000:3b:00.0", // rows 19 to 21 are one message
	"22": "nvrm.gpu_at gpu=0000:3b:00.0 uuid=GPU-aaaaaaaa-0000-0000-0000-000000000000",
	"23": "nvrm.board_serial serial=1650123456789",
	"24": "nvrm.rminit_failed stage=0x26 gpu=",
	"25": "nvrm.rminit_failed gpu=0000:3b:00.0 stage=0x62",
	"26": "nvrm.api_mismatch",
	"27": "nvrm.rc_all_channels xid=79",
	"28": "sxid.28006 nvswitch=0000:c1:00.0 link=46 severity=nonfatal",
	"29": "sxid.20034 nvswitch=0000:a9:00.0 link=30 severity=fatal",
	"30": "sxid.24007 nvswitch=0000:a9:00.0 link= severity=fatal",
	"31": "pcie.aer.root port=0000:3a:00.0",
	"32": "pcie.aer.nonfatal gpu=0000:3b:00.0 level=abnormal",
	"33": "pcie.aer.corrected gpu=0000:3b:00.0 level=notice",
	"34": "pcie.hotplug_link_down port=0000:00:01.0",
	"35": "xid.79 pid=1234 process=python; xid.45 pid=1234 process=python",
	"36": "kernel.suppressed count=42 level=fact",
	"37": "kernel.oom_kill pid=7194 process=pt_main_thread",
	"38": "kernel.hung_task pid=1234 process=nv_queue",
	"39": "kernel.segfault pid=1234 process=python",
	"40": "kernel.module_vermagic",
	"41": "nvrm.peermem",
	"42": "kernel.mlx5_module pci=0000:5e:00.0",
	"43": "kernel.mce_logged level=notice",
	"44": "kernel.edac_ue level=abnormal",
	"45": "nvrm.modeset_error",
	"46": "nvrm.rm_init_adapter_failed minor=0",
	"47": "pcie.config_inaccessible gpu=0000:3b:00.0",
}

func TestLineForms(t *testing.T) {
	b, err := os.ReadFile("testdata/line-forms.tsv")
	if err != nil {
		t.Fatal(err)
	}
	s, _ := embedded(t)
	rows := map[string]string{}
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
		f := strings.SplitN(l, "\t", 3)
		rows[f[0]] = f[2]
	}
	rows["19"] += "\n" + rows["20"] + "\n" + rows["21"]
	for n, want := range lineForms {
		sigs := scanText(t, s, rows[n]+"\n", Options{}).Signals
		for _, w := range strings.Split(want, ";") {
			if msg := lacks(sigs, strings.Fields(w)); msg != "" {
				t.Errorf("row %s %q: %s", n, rows[n], msg)
			}
		}
	}
}

// lacks says what of an expectation no signal of its kind meets.
func lacks(sigs []gpumedic.Signal, want []string) string {
	msg := "no signal " + want[0]
	for i := range sigs {
		if sigs[i].Kind != want[0] {
			continue
		}
		msg = ""
		for _, kv := range want[1:] {
			k, v, _ := strings.Cut(kv, "=")
			if got := sigs[i].Part(k); got != v {
				msg = k + " is " + got + ", want " + v
			}
		}
		if msg == "" {
			return ""
		}
	}
	return msg
}
