// Package cudafake builds, for tests, a libcuda.so.1 that needs no GPU: its memory is host
// memory, its kernels are C functions that do what kernels/ of internal/burn do, and faults
// are planted through the environment (testdata/libcuda.c says how).
package cudafake

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gpumedic/gpumedic/internal/driver"
)

//go:embed testdata/libcuda.c
var source []byte

// Env is the variable that plants faults.
const Env = "GPUMEDIC_FAKE_CUDA"

// RealGPU is the variable that lets tests use the machine's own GPU instead.
const RealGPU = "GPUMEDIC_TEST_GPU"

// ErrNoCompiler says that this machine cannot build the library.
var ErrNoCompiler = errors.New("no C compiler")

// Build compiles the library into dir. A process finds it when it is started with
// LD_LIBRARY_PATH=dir.
func Build(dir string) error {
	src := filepath.Join(dir, "libcuda.c")
	if err := os.WriteFile(src, source, 0o644); err != nil {
		return fmt.Errorf("write fake driver: %w", err)
	}
	return compile(filepath.Join(dir, "libcuda.so.1"), src)
}

func compile(to, src string) error {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		return ErrNoCompiler
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O2", "-o", to, src, "-lm").CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w: %s", src, err, out)
	}
	return nil
}

// Main is for TestMain: it starts the test binary again with the library on its path and
// gives the exit status, or returns ok = false when this is the second process already
// (run the tests) or no library can be built or loaded (they will skip, see [Present]). others are
// further libraries, each as NAME=C FILE; they lie in the folder others below [Dir].
func Main(others ...string) (status int, ok bool) {
	if !driver.Available || os.Getenv(marker) != "" || os.Getenv(RealGPU) != "" {
		return 0, false
	}
	dir, err := os.MkdirTemp("", "cudafake")
	if err != nil {
		return 0, false
	}
	defer os.RemoveAll(dir)
	err = Build(dir)
	for _, o := range others {
		name, file, _ := strings.Cut(o, "=")
		if err == nil {
			_ = os.MkdirAll(filepath.Join(dir, "others"), 0o755) // compile tells when it is not there
			err = compile(filepath.Join(dir, "others", name), file)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake drivers:", err)
		return 0, false
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, marker+"="+dir)
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode(), true
		}
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

const marker = "GPUMEDIC_FAKE_CUDA_DIR"

// Dir is where the fake library lies, "" when there is none.
func Dir() string { return os.Getenv(marker) }

// Present reports whether this process finds the fake library.
func Present() bool { return os.Getenv(marker) != "" }
