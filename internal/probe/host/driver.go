package host

import (
	"bytes"
	"debug/elf"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// driver writes the kernel modules, the libraries and the device files.
func (h *prober) driver() {
	h.about("node", "")
	h.loadedModule()
	h.otherModules()
	h.moduleOnDisk()
	h.libraries()
	h.deviceFiles()
}

var nvrmLine = lazyre.New(`NVRM version: (NVIDIA UNIX .*?Kernel Module)(?: for \S+)?\s+(\d[\d.]+)`)

// loadedModule writes version and flavour of the module in the kernel.
func (h *prober) loadedModule() {
	h.loaded = h.exists("/sys/module/nvidia")
	s, err := h.read("/proc/driver/nvidia/version")
	if m := nvrmLine.FindStringSubmatch(s); m != nil {
		h.loaded, h.module = true, m[2]
		flavor := "proprietary"
		if strings.Contains(m[1], "Open") {
			flavor = "open"
		}
		h.w.Value("kernel_module.flavor", flavor)
	}
	if v, err := h.read("/sys/module/nvidia/version"); err == nil && v != "" && h.module == "" {
		h.module = v
	}
	h.w.Value("kernel_module.loaded", h.loaded)
	switch {
	case h.module != "":
		h.w.Value("kernel_module.version", h.module)
	case h.loaded:
		failed(h.w, "kernel_module.version", "/proc/driver/nvidia/version", err)
	default:
		h.w.Absent("kernel_module.version", "the module nvidia is not loaded")
	}
	if s, err := h.read("/sys/module/nvidia/taint"); err == nil && s != "" {
		h.w.Value("kernel_module.taint", s)
	}
	if s, err := h.read("/proc/driver/nvidia/params"); err == nil {
		h.params(s)
	}
}

// watchedParams are the module's parameters that explain a behaviour.
var watchedParams = []string{
	"EnableGpuFirmware", "DynamicPowerManagement", "PreserveVideoMemoryAllocations", "EnableResizableBar",
	"ExcludedGpus", "NvLinkDisable", "OpenRmEnableUnsupportedGpus", "EnablePCIERelaxedOrderingMode", "GrdmaPciTopoCheckOverride", "RegistryDwords",
}

func (h *prober) params(s string) {
	for line := range strings.Lines(s) {
		k, v, ok := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		if v = strings.Trim(v, `"`); ok && v != "" && slices.Contains(watchedParams, k) {
			h.w.Value("kernel_module.param."+strings.ToLower(k), v)
		}
	}
}

// otherModules writes which modules share or contest the GPUs.
func (h *prober) otherModules() {
	for _, m := range []string{"nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem", "nouveau", "nova_core", "gdrdrv", "vfio_pci"} {
		if h.exists("/sys/module/" + m) {
			h.w.Value("module."+m, "loaded")
		}
	}
}

// moduleNames are the places of nvidia.ko below /lib/modules/RELEASE, by installer.
var moduleDirs = []string{
	"updates/dkms", "updates", "extra", "extra/nvidia", "extra/drivers/video/nvidia", "kernel/drivers/video", "kernel/drivers/video/nvidia",
	"kernel/nvidia", "weak-updates/nvidia", "weak-updates", "nvidia",
}

// moduleOnDisk looks for the module of the running kernel and its version.
func (h *prober) moduleOnDisk() {
	release, err := h.read("/proc/sys/kernel/osrelease")
	dir := path.Join("/lib/modules", release)
	if err != nil || release == "" || !h.exists(path.Join(dir, "modules.dep")) && !h.exists(path.Join(dir, "modules.builtin")) {
		h.w.Absent("kernel_module.file", "no /lib/modules of the running kernel here")
		return
	}
	file := h.findModule(dir)
	if file == "" {
		h.w.Value("kernel_module.file", "none")
		return
	}
	h.w.Value("kernel_module.file", file)
	version, vermagic, err := h.moduleVersion(file, release)
	if err != nil {
		h.w.Absent("kernel_module.disk.version", err.Error())
		return
	}
	h.w.Value("kernel_module.disk.version", version)
	if vermagic != "" {
		h.w.Value("kernel_module.vermagic", vermagic)
		built, _, _ := strings.Cut(vermagic, " ")
		h.w.Value("kernel_module.built_for", built)
	}
}

func (h *prober) findModule(dir string) string {
	// depmod's list has every module, wherever it lies.
	if s, err := h.read(path.Join(dir, "modules.dep")); err == nil {
		for line := range strings.Lines(s) {
			name, _, ok := strings.Cut(line, ":")
			if base := path.Base(name); ok && (base == "nvidia.ko" || strings.HasPrefix(base, "nvidia.ko.")) {
				return path.Join(dir, name)
			}
		}
	}
	for _, d := range moduleDirs {
		for _, suffix := range []string{"", ".zst", ".xz", ".gz"} {
			if f := path.Join(dir, d, "nvidia.ko"+suffix); h.exists(f) {
				return f
			}
		}
	}
	return ""
}

// moduleVersion reads the module's own words. A compressed module takes seconds to
// unpack, so its version comes from DKMS' folder or from modinfo.
func (h *prober) moduleVersion(file, release string) (version, vermagic string, err error) {
	if strings.HasSuffix(file, ".ko") {
		info, err := guarded(h.tree, path.Dir(file), func() (map[string]string, error) { return modinfo(h.at(file)) })
		if err == nil {
			return info["version"], info["vermagic"], nil
		}
	}
	if strings.Contains(file, "dkms") {
		var built []string
		for _, name := range []string{"nvidia", "nvidia-open"} {
			for _, v := range h.list(path.Join("/var/lib/dkms", name)) {
				if h.exists(path.Join("/var/lib/dkms", name, v, release)) {
					built = append(built, v)
				}
			}
		}
		if len(built) == 1 {
			return built[0], "", nil
		}
	}
	if h.Quick {
		return "", "", errQuick
	}
	out, err := h.run(3*time.Second, "modinfo", "-F", "version", "nvidia")
	if v := strings.TrimSpace(string(out)); err == nil && v != "" {
		return v, "", nil
	}
	return "", "", errPacked
}

type sentence string

func (s sentence) Error() string { return string(s) }

const (
	errQuick  = sentence("left out of a quick check")
	errPacked = sentence("the module's file is compressed and modinfo gives no version")
)

// modinfo reads the .modinfo section of a kernel module: "key=value" strings with zeros
// between.
func modinfo(name string) (map[string]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	e, err := elf.NewFile(f)
	if err != nil {
		return nil, err
	}
	s := e.Section(".modinfo")
	if s == nil || s.Size > 1<<20 {
		return nil, errPacked
	}
	b, err := s.Data()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for entry := range bytes.SplitSeq(b, []byte{0}) {
		if k, v, ok := strings.Cut(string(entry), "="); ok && out[k] == "" {
			out[k] = v
		}
	}
	return out, nil
}

// libraryPaths are where the loader looks when nothing else is said.
var libraryPaths = []string{
	"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
	"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/run/opengl-driver/lib",
}

// libraries writes the versions of the driver's libraries that a program would load.
func (h *prober) libraries() {
	dirs := h.loaderDirs()
	for _, l := range [][2]string{{"library.nvml.version", "libnvidia-ml.so"}, {"library.cuda.version", "libcuda.so"}} {
		version, where := "", ""
		for _, d := range dirs {
			if version = h.libraryVersion(d, l[1]); version != "" {
				where = d
				break
			}
		}
		if version == "" {
			h.w.Absent(l[0], "no "+l[1]+".1 in the loader's folders")
			continue
		}
		h.w.Noted(l[0], version, where)
	}
}

// libraryVersion follows NAME.so.1 in a folder: NAME.so.580.65.06. Two versions side by
// side without that link say nothing.
func (h *prober) libraryVersion(dir, name string) string {
	if target, err := h.link(path.Join(dir, name+".1")); err == nil {
		return driverVersionOf(path.Base(target), name)
	}
	return ""
}

var versionForm = lazyre.New(`^\d{3,4}\.\d+(?:\.\d+)*$`)

func driverVersionOf(file, name string) string {
	v, ok := strings.CutPrefix(file, name+".")
	if !ok || !versionForm.MatchString(v) {
		return ""
	}
	return v
}

// loaderDirs are the folders of LD_LIBRARY_PATH and ld.so.conf, then the usual ones.
func (h *prober) loaderDirs() []string {
	var out []string
	add := func(d string) {
		if d = strings.TrimSpace(d); path.IsAbs(d) && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	for d := range strings.SplitSeq(h.environ()["LD_LIBRARY_PATH"], ":") {
		add(d)
	}
	for _, f := range append([]string{"/etc/ld.so.conf"}, h.confFiles()...) {
		s, err := h.read(f)
		if err != nil {
			continue
		}
		for line := range strings.Lines(s) {
			line, _, _ = strings.Cut(line, "#")
			add(line)
		}
	}
	for _, d := range libraryPaths {
		add(d)
	}
	return out
}

func (h *prober) confFiles() []string {
	var out []string
	for _, n := range h.list("/etc/ld.so.conf.d") {
		if filepath.Ext(n) == ".conf" {
			out = append(out, path.Join("/etc/ld.so.conf.d", n))
		}
	}
	return out
}

// deviceFiles writes which files of the driver are in /dev and whether we may use them.
func (h *prober) deviceFiles() {
	var gpus, refused []string
	for _, n := range h.list("/dev") {
		if !strings.HasPrefix(n, "nvidia") {
			continue
		}
		digits := strings.TrimPrefix(n, "nvidia")
		if digits != "" && strings.Trim(digits, "0123456789") == "" {
			gpus = append(gpus, digits)
		} else if n != "nvidiactl" && n != "nvidia-uvm" {
			continue
		}
		if name := path.Join("/dev", n); h.live() && mayUse(h.at(name)) != nil {
			refused = append(refused, name)
		}
	}
	h.w.Value("device.files", len(gpus))
	for _, n := range []string{"nvidiactl", "nvidia-uvm"} {
		h.w.Value("device.file."+strings.ReplaceAll(n, "-", "_"), h.exists("/dev/"+n))
	}
	if len(refused) > 0 {
		h.w.Value("device.files.refused", strings.Join(refused, ","))
	}
}
