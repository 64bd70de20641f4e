package host

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// signals judges a tree by the catalog's rules: "kind subject" of what is not a mere fact.
func signals(t *testing.T, doc string) []string {
	t.Helper()
	list, _ := section.Parse(section.TextOf(doc))
	cat, err := catalog.Embedded()
	must(t, err)
	var out []string
	for _, s := range section.Judge(cat.Readings, list) {
		if s.Level == gpumedic.LevelFact {
			continue
		}
		level := ""
		if s.Level == gpumedic.LevelNotice {
			level = " (notice)"
		}
		out = append(out, strings.TrimSpace(s.Kind+" "+nameOfSet(section.Readings{Subject: s.Subject}))+level)
	}
	slices.Sort(out)
	return out
}

// TestTrees judges whole machines: each says what is wrong with it and nothing more.
func TestTrees(t *testing.T) {
	for _, c := range []struct {
		tree string
		exec map[string]string
		want []string
	}{
		{tree: "hgx-idle", exec: map[string]string{"nv-fabricmanager": "Fabric Manager version is : 580.95.05\n"}},
		{tree: "laptop"},
		{tree: "upgraded", exec: map[string]string{"nv-fabricmanager": "Fabric Manager version is : 580.95.05\n"}, want: []string{
			"driver.branch_ended (notice)", "driver.disk_version_differs (notice)", "nvml.version_mismatch", "svc.fabricmanager.version_mismatch",
		}},
		{tree: "no-module", want: []string{"kernel.module_not_found", "smi.no_driver"}},
		{tree: "fabric-manager-down", exec: map[string]string{
			"systemctl": "Id=nvidia-fabricmanager.service\nLoadState=loaded\nActiveState=failed\nSubState=failed\nResult=exit-code\nUnitFileState=enabled\n\nId=nvidia-imex.service\nLoadState=not-found\nActiveState=inactive\n",
		}, want: []string{"svc.fabricmanager.failed nvidia-fabricmanager", "svc.fabricmanager.not_running"}},
		{tree: "bad-link", want: []string{
			"host.clocksource_slow (notice)", "ib.link_flaps mlx5_3/1 (notice)", "ib.port_down mlx5_4/1", "ib.rate_low mlx5_3/1 (notice)",
			"kernel.edac_ce (notice)", "kernel.edac_ue", "kernel.mce_logged (notice)",
			"pcie.aer_rate_high 0000:1b:00.0", "pcie.bar_no_space 0000:2c:00.0", "pcie.config_inaccessible 0000:2c:00.0",
			"pcie.error_bits 0000:1b:00.0 (notice)", "pcie.error_bits 0000:1b:00.0 (notice)", "smi.pcie_width_degraded 0000:1b:00.0",
		}},
		{tree: "holders", want: []string{"host.oom_history 6002 (notice)", "proc.holder_orphan 6001 (notice)", "proc.holder_zombie 5001 (notice)"}},
		{tree: "container", want: []string{"container.devices_denied", "container.uvm_missing (notice)"}},
		{tree: "other-drivers", want: []string{"nvrm.device_probe_failed 0000:3d:00.0"}},
	} {
		o := Options{Root: shared(t, c.tree)}
		if c.exec != nil {
			o.Exec = program(c.exec)
		}
		doc := document(t, o)
		if got := signals(t, doc); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q\n%s", c.tree, got, c.want, doc)
		}
	}
}

// TestReadings looks at single values of the trees.
func TestReadings(t *testing.T) {
	for tree, want := range map[string]map[string]string{
		"hgx-idle": {
			" pci.gpus": "2", " pci.nvswitches": "1", " kernel_module.version": "580.95.05", " kernel_module.flavor": "open",
			" library.nvml.version": "580.95.05", " kernel_module.disk.version": "580.95.05", " driver.branch": "580", " driver.branch.supported": "yes",
			" driver.branch.days_left": "577", " host.memory.available.mib": "1966218", " holders": "3", " device.files": "2", " container.runtime": "none",
			" container.inside": "no", " service.persistenced.running": "yes", " service.imex.running": "no", " host.limit.memlock.kib": "unlimited",
			" host.boot_time": "2025-12-01T00:00:00Z", " module.nvidia_peermem": "loaded",
			"0000:1b:00.0 name": "NVIDIA H100 80GB HBM3", "0000:1b:00.0 pci.device": "10de:2330", "0000:1b:00.0 uuid": "GPU-0b7c2a51-1111-2222-3333-444455556666",
			"0000:1b:00.0 pcie.link.gen.current": "1", "0000:1b:00.0 pcie.link.gen.max": "5", "0000:1b:00.0 pcie.link.width.current": "16",
			"0000:1b:00.0 pci.bar1.mib": "131072", "0000:1b:00.0 pci.bar1.resizable.max.mib": "131072", "0000:1b:00.0 iommu.type": "identity",
			"0000:1b:00.0 pcie.aer.correctable.total": "43", "0000:1b:00.0 pcie.aer.correctable.link": "3", "0000:1b:00.0 pcie.aer.correctable.link.per_hour": "0",
			"0000:1b:00.0 pcie.aer.nonfatal.bits": "unsupreq", "0000:1b:00.0 pci.config": "ok",
			"0000:15:01.0 pcie.acs.redirect": "yes", "0000:15:01.0 pcie.port.width": "16", "0000:07:00.0 pci.driver": "nvidia-nvswitch",
			"4242 process.name": "python3", "4242 user": "alice", "4242 minor": "1", "4242 process.state": "sleeping", "4242 process.orphan": "no",
			"4242 process.pod": "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "4242 process.container": strings.Repeat("ab", 32), "4242 process.container.runtime": "containerd",
			"4242 source": "/dev/nvidia-uvm,/dev/nvidia1,/dev/nvidiactl", "900 process.unit": "nvidia-persistenced.service", "900 minor": "-",
			"mlx5_0/1 ib.state": "active", "mlx5_0/1 ib.phys_state": "linkup", "mlx5_0/1 ib.rate.gbps": "400", "mlx5_0/1 ib.counter.port_rcv_errors": "14",
		},
		"laptop": {
			"0000:01:00.0 pci.config": "N/A", "0000:01:00.0 pcie.link.width.current": "N/A", "0000:01:00.0 pci.numa_node": "N/A",
			"0000:01:00.0 pci.power_state": "d3cold", " host.limit.memlock.kib": "8192", " host.limit.open_files": "1024", " host.oom_kills": "2",
		},
		"bad-link": {
			"0000:1b:00.0 pcie.aer.fatal.bits": "dlp", "0000:1b:00.0 pcie.link.width.max": "16", "0000:26:01.0 pcie.acs.redirect": "yes",
			" host.edac.dimm": "CPU_SrcID#0_MC#0_Chan#0_DIMM#0", " host.mce.exceptions": "3",
		},
		"no-module": {" kernel_module.file": "none", " kernel_module.loaded": "no", " pci.gpus.unbound": "2", "0000:1b:00.0 pci.driver": "none"},
		"holders": {
			"5001 process.state": "zombie", "5001 process.slurm.job": "77", "5001 process.slurm.step": "0", "5001 process.stuck.in": "os_acquire_mutex [nvidia]",
			"6001 process.state": "disk sleep", "6001 process.stuck.in": "nv_open_device [nvidia]", "6001 process.orphan": "yes",
			"6002 process.name": "python (gpu) 7", "6002 user": "4711", "6002 process.slurm.job": "8123", "6002 process.slurm.step": "batch", "6002 process.cgroup.oom_kills": "2",
		},
		"container": {
			" container.runtime": "docker", " container.id": strings.Repeat("ab", 32), " container.devices.allowed": "no", " env.nvidia_visible_devices": "all",
			" env.cuda_visible_devices": "none", " env.nvidia_driver_capabilities": "-", " kernel_module.file": "N/A", " container.capabilities": "dac_override,mknod",
		},
		"other-drivers": {" pci.gpus.other_driver": "2", " pci.gpus.usable": "0", " module.nouveau": "loaded", "0000:2c:00.0 pci.driver": "vfio-pci"},
	} {
		got := sets(t, document(t, Options{Root: shared(t, tree)}))
		for where, w := range want {
			subject, key, _ := strings.Cut(where, " ")
			if v := value(got[subject], key); v != w {
				t.Errorf("%s: %q %s is %q, want %q", tree, subject, key, v, w)
			}
		}
	}
}

// TestRecordedTrees: real trees of /sys.
func TestRecordedTrees(t *testing.T) {
	doc := document(t, Options{Root: unpack(t, "sysfs-pci-p100.tar.gz")})
	got := sets(t, doc)
	for where, w := range map[string]string{
		" pci.gpus": "1", "0000:06:00.0 pci.driver": "nvidia", "0000:06:00.0 pci.device": "10de:15f8",
		"0000:06:00.0 pcie.link.width.current": "N/A", "0000:06:00.0 pcie.aer.fatal.total": "N/A", "0000:00:01.5 device.kind": "port",
	} {
		subject, key, _ := strings.Cut(where, " ")
		if v := value(got[subject], key); v != w {
			t.Errorf("p100: %q %s is %q, want %q", subject, key, v, w)
		}
	}
	if s := signals(t, doc); len(s) > 0 {
		t.Errorf("p100: %q", s)
	}
	doc = document(t, Options{Root: unpack(t, "sysfs-ib-h100.tar.gz")})
	got = sets(t, doc)
	if v := value(got["mlx5_bond_0/1"], "ib.rate.gbps"); v != "200" {
		t.Errorf("h100: rate of the bond %q", v)
	}
	if s := signals(t, doc); !slices.Equal(s, []string{"ib.link_flaps mlx5_1/1 (notice)"}) {
		t.Errorf("h100: %q", s)
	}
}

// TestNamesAreDocumented: every name that a probe writes stands in docs/readings.md.
func TestNamesAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../../docs/readings.md")
	must(t, err)
	var known []*regexp.Regexp
	for _, m := range regexp.MustCompile("`([a-z][^` ]*)`").FindAllStringSubmatch(string(b), -1) {
		src := regexp.QuoteMeta(strings.ReplaceAll(m[1], `\|`, "|"))
		known = append(known, regexp.MustCompile("^"+regexp.MustCompile(`<[^>]*>`).ReplaceAllStringFunc(src, func(s string) string {
			if inner := s[1 : len(s)-1]; strings.Contains(inner, `\|`) {
				return "(?:" + strings.ReplaceAll(inner, `\|`, "|") + ")"
			}
			return `[a-z0-9_]+`
		})+"$"))
	}
	trees, _ := filepath.Glob("testdata/trees/*.txtar")
	for _, f := range trees {
		name := strings.TrimSuffix(filepath.Base(f), ".txtar")
		for _, s := range sets(t, document(t, Options{Root: shared(t, name), PIDs: []int{1}})) {
			for key := range s.Values {
				if !slices.ContainsFunc(known, func(re *regexp.Regexp) bool { return re.MatchString(key) }) {
					t.Errorf("%s: %s is not in docs/readings.md", name, key)
				}
			}
		}
	}
}

// TestSameDocument: the same tree gives the same bytes, quick leaves nothing half done.
func TestSameDocument(t *testing.T) {
	root := shared(t, "hgx-idle")
	a := document(t, Options{Root: root, Quick: true})
	if b := document(t, Options{Root: root, Quick: true}); a != b {
		t.Errorf("two runs differ:\n%s\n%s", a, b)
	}
	full := document(t, Options{Root: root})
	for _, line := range strings.Split(a, "\n") {
		if !strings.Contains(full, line) {
			t.Errorf("only in the quick document: %s", line)
		}
	}
}

func TestEmptyTree(t *testing.T) {
	doc := document(t, Options{Root: t.TempDir()})
	if s := signals(t, doc); len(s) > 0 {
		t.Errorf("an empty tree gives %q", s)
	}
	if v := value(sets(t, doc)[""], "pci.gpus"); v != "N/A" {
		t.Errorf("pci.gpus is %q", v)
	}
}

// TestThisMachine reads the machine that the test runs on: whatever it is, the document
// reads back whole.
func TestThisMachine(t *testing.T) {
	got := sets(t, document(t, Options{Quick: true}))
	if v := value(got[""], "host.memory.total.mib"); v == "-" {
		t.Skip("no /proc here")
	}
	if v := value(got["/"], "disk.used.percent"); v == "-" {
		t.Error("no fill of /")
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Probe(ctx, nil, Options{Root: t.TempDir()}); err == nil {
		t.Error("no error of a cancelled probe")
	}
}
