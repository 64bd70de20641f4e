package host

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

const id64 = "3f1c9a07d2e84b65a0c7f3e1b9d2468ace0135792468bdf13579bdf02468ace1"

func TestCgroup(t *testing.T) {
	for in, want := range map[string]Owner{
		"0::/system.slice/docker-" + id64 + ".scope":         {Container: id64, Runtime: "docker"},
		"12:memory:/docker/" + id64 + "\n0::/docker/" + id64: {Container: id64, Runtime: "docker"},
		"0::/../../docker/" + id64:                           {Container: id64, Runtime: "docker"}, // seen from a sibling's namespace
		"0::/kubepods.slice/kubepods-pod11112222_3333_4444_5555_666677778888.slice/cri-containerd-" + id64 + ".scope": {
			Container: id64, Runtime: "containerd", Pod: "11112222-3333-4444-5555-666677778888"},
		"0::/kubepods/besteffort/pod11112222-3333-4444-5555-666677778888/" + id64: {
			Container: id64, Runtime: "containerd", Pod: "11112222-3333-4444-5555-666677778888"},
		"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0123456789abcdef0123456789abcdef.slice/crio-" + id64 + ".scope": {
			Container: id64, Runtime: "cri-o", Pod: "0123456789abcdef0123456789abcdef"},
		"5:pids:/system.slice/containerd.service/kubepods-burstable-pod11112222_3333_4444_5555_666677778888.slice:cri-containerd:" + id64: {
			Container: id64, Runtime: "containerd", Pod: "11112222-3333-4444-5555-666677778888", Unit: "containerd.service"},
		"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id64 + ".scope/container": {
			Container: id64, Runtime: "podman"},
		"0::/machine.slice/libpod-" + id64 + ".scope":                       {Container: id64, Runtime: "podman"},
		"9:devices:/slurm/uid_1000/job_4711/step_0/task_3\n0::/":            {Job: "4711", Step: "0"},
		"4:memory:/slurm_node12/uid_0/job_9/step_batch":                     {Job: "9", Step: "batch"},
		"0::/system.slice/slurmstepd.scope/job_88/step_extern/user/task_0":  {Job: "88", Step: "extern"},
		"0::/system.slice/node7_slurmstepd.scope/job_88/step_0/user/task_1": {Job: "88", Step: "0"},
		"0::/lxc.payload.train-box/init.scope":                              {Container: "train-box", Runtime: "lxc"},
		"0::/machine.slice/machine-f41.scope/payload":                       {Container: "f41", Runtime: "nspawn"},
		"0::/system.slice/nvidia-dcgm.service":                              {Unit: "nvidia-dcgm.service"},
		"0::/user.slice/user-1000.slice/session-4.scope":                    {Unit: "session-4.scope"},
		"0::/":     {},
		"nonsense": {},
		"":         {},
	} {
		got := parseCgroup(in)
		got.Path = ""
		if want.Container != "" || want.Job != "" {
			want.Unit, got.Unit = "", "" // a scope of the container's own
		}
		if got != want {
			t.Errorf("%q:\n got %+v\nwant %+v", in, got, want)
		}
	}
	if p := parseCgroup("12:memory:/docker/x\n0::/system.slice/a.service").Path; p != "/system.slice/a.service" {
		t.Errorf("path %q", p)
	}
}

func TestAER(t *testing.T) {
	counts, total, ok := parseAER("RxErr 7\nBadTLP 0\nTimeout 2\nNonFatalErr 1\nTOTAL_ERR_COR 10\n")
	if !ok || total != 10 || counts["rxerr"] != 7 || counts["timeout"] != 2 {
		t.Errorf("%v %d %v", counts, total, ok)
	}
	if _, total, ok := parseAER("DLP 3\nSDES 1"); !ok || total != 4 {
		t.Errorf("without a sum: %d %v", total, ok)
	}
	for _, bad := range []string{"", "x", "RxErr\n", "RxErr minus"} {
		if _, _, ok := parseAER(bad); ok {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestExtendedCap(t *testing.T) {
	config := make([]byte, 4096)
	put := func(at int, id uint16, next int) {
		binary.LittleEndian.PutUint32(config[at:], uint32(id)|1<<16|uint32(next)<<20)
	}
	put(0x100, 1, 0x148)
	put(0x148, capACS, 0)
	for control, want := range map[uint16]bool{0: false, 1: false, 1 << 2: true, 1 << 3: true, 0x1d: true, 0x13: false} {
		binary.LittleEndian.PutUint16(config[0x148+6:], control)
		if got, err := acsRedirects(config); err != nil || got != want {
			t.Errorf("control %#x: %v %v", control, got, err)
		}
	}
	put(0x148, 0x19, 0x100) // a ring
	if _, err := acsRedirects(config); !errors.Is(err, errBadCap) {
		t.Errorf("a ring: %v", err)
	}
	if _, err := acsRedirects(config[:64]); !errors.Is(err, errNoExt) {
		t.Errorf("64 bytes: %v", err)
	}
	if _, err := acsRedirects(make([]byte, 4096)); !errors.Is(err, errNoCap) {
		t.Errorf("empty list: %v", err)
	}
}

func TestStat(t *testing.T) {
	if p := parseStat("77 (a) (b) R) D 12 0 0 0 -1 0 0 0 0 0 5 6 0 0"); p.name != "a) (b) R" || p.state != "D" || p.ppid != 12 {
		t.Errorf("%+v", p)
	}
	for _, bad := range []string{"", ")(", "1 (", "1 (x)"} {
		if p := parseStat(bad); p.state != "" {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

func TestAllowsNVIDIA(t *testing.T) {
	for in, want := range map[string]bool{
		"a *:* rwm":                       true,
		"c 1:5 rwm\nc 195:* rw":           true,
		"c 195:254 rwm\n":                 true,
		"c *:* m\nb *:* m\nc 136:* rwm\n": false,
		"c 195:* m":                       false,
		"":                                false,
	} {
		if got := allowsNVIDIA(in); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestUnescapeMount(t *testing.T) {
	for in, want := range map[string]string{`/mnt/a\040b`: "/mnt/a b", `\134`: `\`, `/x\04`: `/x\04`, "/": "/"} {
		if got := unescapeMount(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestPercent(t *testing.T) {
	for _, c := range [][3]uint64{{0, 0, 0}, {1, 1000, 0}, {999, 1000, 99}, {1000, 1000, 100}, {1 << 62, 1 << 62, 100}} {
		if got := percent(c[0], c[1]); got != c[2] {
			t.Errorf("%d of %d: %d", c[0], c[1], got)
		}
	}
}

func TestSpeed(t *testing.T) {
	for in, want := range map[string]float64{"32.0 GT/s PCIe": 32, "2.5 GT/s": 2.5, "Unknown": 0, "": 0, "-1 GT/s": 0, "1e99 GT/s": 0} {
		if got := speedOf(in); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func FuzzCgroup(f *testing.F) {
	f.Add("0::/kubepods.slice/kubepods-pod11112222_3333_4444_5555_666677778888.slice/cri-containerd-" + id64 + ".scope\n")
	f.Add("9:devices:/slurm/uid_1000/job_4711/step_0/task_3\n0::/")
	f.Fuzz(func(t *testing.T, s string) {
		o := parseCgroup(s)
		for _, part := range []string{o.Container, o.Pod, o.Job, o.Step, o.Unit} {
			if strings.ContainsAny(part, "\n/") {
				t.Errorf("%q gives %+v", s, o)
			}
		}
	})
}

func FuzzAER(f *testing.F) {
	f.Add("RxErr 0\nBadTLP 18446744073709551615\nTOTAL_ERR_COR 1\n")
	f.Fuzz(func(t *testing.T, s string) {
		counts, _, ok := parseAER(s)
		if !ok && len(counts) > 0 {
			t.Errorf("%q: counters of an unreadable file", s)
		}
		nonzero(counts)
	})
}

func FuzzKmsg(f *testing.F) {
	f.Add("6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n")
	f.Add("4,1,2,-;a\\x0ab\\x1b[0m\n")
	f.Fuzz(func(t *testing.T, s string) {
		h := newProber(t.Context(), nil, Options{Root: t.TempDir()})
		text, _ := h.records([]byte(s))
		if strings.Count(string(text), "\n") > strings.Count(s, "\n")+1 {
			t.Errorf("%q became more lines: %q", s, text)
		}
	})
}

func FuzzConfigSpace(f *testing.F) {
	b := make([]byte, 0x160)
	binary.LittleEndian.PutUint32(b[0x100:], capACS|1<<16)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if at, err := extendedCap(b, capACS); err == nil && (at < 0x100 || at+4 > len(b)) {
			t.Errorf("found at %d of %d", at, len(b))
		}
		_, _ = acsRedirects(b)
		allOnes(b)
	})
}

// FuzzFiles: the small readers of /proc and tools.
func FuzzFiles(f *testing.F) {
	f.Add("0x0 0xff 0x200\n")
	f.Add("Max open files            1024                 4096                 files\n")
	f.Add("Id=a.service\nActiveState=active\n\nId=b\n")
	f.Add("tmpfs /a\\040b tmpfs rw 0 0\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, b := range parseResource(s) {
			if n := b.size(); n > 0 && n-1 > b.end { // the addresses are unsigned: a size that wrapped would be larger
				t.Errorf("size %d of %+v", b.size(), b)
			}
		}
		parseLimits(s)
		parseUnits(s)
		parseMounts(s)
		parseStat(s)
		colonNumbers(s)
		driverFrame(s)
		allowsNVIDIA(s)
	})
}
