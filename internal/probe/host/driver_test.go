package host

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/catalog"
)

// module builds the smallest ELF file with a .modinfo section.
func module(info string) []byte {
	names := "\x00.modinfo\x00.shstrtab\x00"
	var b bytes.Buffer
	w := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) }
	b.WriteString("\x7fELF\x02\x01\x01" + string(make([]byte, 9)))
	w([]uint16{1, 62})
	w(uint32(1))
	w([]uint64{0, 0, uint64(64 + len(info) + len(names))})
	w(uint32(0))
	w([]uint16{64, 0, 0, 64, 3, 2})
	b.WriteString(info + names)
	section := func(name, kind uint32, off, size int) {
		w([]uint32{name, kind})
		w([]uint64{0, 0, uint64(off), uint64(size)})
		w([]uint32{0, 0})
		w([]uint64{1, 0})
	}
	section(0, 0, 0, 0)
	section(1, 1, 64, len(info))
	section(10, 3, 64+len(info), len(names))
	return b.Bytes()
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	at := filepath.Join(root, name)
	must(t, os.MkdirAll(filepath.Dir(at), 0o755))
	must(t, os.WriteFile(at, []byte(text), 0o644))
}

// TestModuleOnDisk reads a plain module's own words.
func TestModuleOnDisk(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/sys/kernel/osrelease", "6.8.0-79-generic\n")
	write(t, root, "lib/modules/6.8.0-79-generic/modules.dep", "extra/nvidia-uvm.ko: extra/nvidia.ko\nextra/nvidia.ko:\n")
	write(t, root, "lib/modules/6.8.0-79-generic/extra/nvidia.ko",
		string(module("license=Dual MIT/GPL\x00version=580.105.08\x00vermagic=6.8.0-45-generic SMP preempt mod_unload modversions \x00")))
	write(t, root, "sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n")
	write(t, root, "sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n")
	doc := document(t, Options{Root: root})
	n := sets(t, doc)[""]
	for key, want := range map[string]string{
		"kernel_module.disk.version": "580.105.08", "kernel_module.built_for": "6.8.0-45-generic",
		"kernel_module.file": "/lib/modules/6.8.0-79-generic/extra/nvidia.ko",
	} {
		if got := value(n, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := signals(t, doc); len(got) != 2 || got[0] != "kernel.module_vermagic" || got[1] != "smi.no_driver" {
		t.Errorf("signals %q", got)
	}
}

// TestPackedModule: a compressed module is asked for by modinfo, and not in a quick check.
func TestPackedModule(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/sys/kernel/osrelease", "5.14.0-503.el9.x86_64\n")
	write(t, root, "lib/modules/5.14.0-503.el9.x86_64/modules.dep", "extra/drivers/video/nvidia/nvidia.ko.xz:\n")
	o := Options{Root: root, Exec: program(map[string]string{"modinfo": "570.195.03\n"})}
	if got := value(sets(t, document(t, o))[""], "kernel_module.disk.version"); got != "570.195.03" {
		t.Errorf("full: %q", got)
	}
	o.Quick = true
	if got := value(sets(t, document(t, o))[""], "kernel_module.disk.version"); got != "N/A" {
		t.Errorf("quick: %q", got)
	}
}

func TestBranchAndToolkit(t *testing.T) {
	for _, c := range []struct {
		version, toolkit string
		now              time.Time
		want             map[string]string
		signals          []string
	}{
		{"595.45.04", "13.2.1", today, map[string]string{"driver.branch.days_left": "120", "toolkit.version": "13.2", "toolkit.driver_floor": "580"}, nil},
		{"595.45.04", "13.2.1", today.AddDate(0, 2, 0), map[string]string{"driver.branch.supported": "yes"}, []string{"driver.branch_ending (notice)"}},
		{"595.45.04", "", today.AddDate(0, 5, 0), map[string]string{"driver.branch.supported": "no"}, []string{"driver.branch_ended (notice)"}},
		{"570.195.03", "13.0.2", today, map[string]string{"driver.branch.type": "production"}, []string{"driver.below_toolkit_floor (notice)", "driver.branch_ended (notice)"}},
		{"615.78.08", "12.10.0", today, map[string]string{"driver.branch.supported": "-", "toolkit.version": "12.10"}, nil},
		{"999.1", "99.0.0", today, map[string]string{"driver.branch.type": "N/A", "toolkit.driver_floor": "-"}, nil},
	} {
		root := t.TempDir()
		write(t, root, "sys/module/nvidia/version", c.version+"\n")
		if c.toolkit != "" {
			write(t, root, "usr/local/cuda/version.json", `{"cuda":{"name":"CUDA SDK","version":"`+c.toolkit+`"},"nvcc":{"version":"1"}}`)
		}
		doc := document(t, Options{Root: root, Now: c.now})
		n := sets(t, doc)[""]
		for key, want := range c.want {
			if got := value(n, key); got != want {
				t.Errorf("%s: %s is %q, want %q", c.version, key, got, want)
			}
		}
		got := signals(t, doc)
		if len(got) != len(c.signals) {
			t.Errorf("%s: signals %q, want %q", c.version, got, c.signals)
			continue
		}
		for i := range got {
			if got[i] != c.signals[i] {
				t.Errorf("%s: signals %q, want %q", c.version, got, c.signals)
			}
		}
	}
}

// TestBranchTable: the table knows the branches that people run, and dates are sane.
func TestBranchTable(t *testing.T) {
	for number, month := range map[int]string{580: "2028-06", 535: "2026-06", 620: "2029-09"} {
		b, ok := catalog.Tables().DriverBranch(number)
		if !ok || b.End.AddDate(0, 0, -1).Format("2006-01") != month {
			t.Errorf("%d: %+v", number, b)
		}
	}
	if f, ok := catalog.Tables().CUDAFloor(12); !ok || f.Driver != "525.60.13" {
		t.Errorf("CUDA 12: %+v", f)
	}
}

// TestVirtualFunctions: a slice of a GPU is not counted as a GPU.
func TestVirtualFunctions(t *testing.T) {
	root := t.TempDir()
	for _, a := range []string{"0000:3b:00.0", "0000:3b:00.4"} {
		write(t, root, "sys/bus/pci/devices/"+a+"/vendor", "0x10de\n")
		write(t, root, "sys/bus/pci/devices/"+a+"/class", "0x030200\n")
	}
	must(t, os.Symlink("../0000:3b:00.0", filepath.Join(root, "sys/bus/pci/devices/0000:3b:00.4/physfn")))
	if got := value(sets(t, document(t, Options{Root: root}))[""], "pci.gpus"); got != "1" {
		t.Errorf("pci.gpus %q", got)
	}
}
