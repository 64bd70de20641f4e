package nvml

import (
	"errors"
	"testing"

	"github.com/gpumedic/gpumedic/internal/driver"
)

// TestThreeAnswers: which codes mean that there is no such value, and which that it
// could not be read.
func TestThreeAnswers(t *testing.T) {
	absent := map[Return]bool{NotSupported: true, NoPermission: true, FunctionNotFound: true, ArgVersionMismatch: true, Deprecated: true, VGPUECCNotSupported: true}
	for code := range returnNames {
		err := result("nvmlDeviceGetSerial", code)
		if code == Success {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if IsAbsent(err) != absent[code] || CodeOf(err) != code {
			t.Errorf("%v: absent %t, code %v", code, IsAbsent(err), CodeOf(err))
		}
	}
	if IsAbsent(result("f", InvalidArgument)) || !IsAbsent(ofKind("f", InvalidArgument)) {
		t.Error("an argument that names a kind may be unknown to a driver; another may not")
	}
	if IsAbsent(ofKind("f", GPUIsLost)) || IsAbsent(nil) || CodeOf(errors.New("x")) != Unknown {
		t.Error("not an answer")
	}
	for err, want := range map[error]string{
		missing("nvmlDeviceGetRemappedRows"):          "nvmlDeviceGetRemappedRows: not in this driver version",
		ofKind("nvmlDeviceGetClockInfo", 2):           "nvmlDeviceGetClockInfo: not known to this driver or product",
		result("nvmlDeviceGetSerial", NoPermission):   "nvmlDeviceGetSerial: no permission",
		result("nvmlDeviceGetSerial", Return(77)):     "nvmlDeviceGetSerial: NVML_ERROR_77",
		result("nvmlDeviceGetSerial", ResetRequired):  "nvmlDeviceGetSerial: NVML_ERROR_RESET_REQUIRED",
		result("nvmlDeviceGetFanSpeed", NotSupported): "nvmlDeviceGetFanSpeed: not supported",
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// TestFieldValues: a driver fills only the part of the union that the type names, and
// calls signed margins unsigned.
func TestFieldValues(t *testing.T) {
	f := func(typ uint32, raw, unsigned uint64, signed int64) {
		t.Helper()
		v := FieldValue{Type: typ, Value: raw}
		if v.Uint() != unsigned || v.Int() != signed {
			t.Errorf("type %d of %#x: %d, %d", typ, raw, v.Uint(), v.Int())
		}
	}
	f(TypeUnsignedInt, 0xeeeeeeee_00000007, 7, 7)
	f(TypeUnsignedInt, 0xeeeeeeee_fffffff8, 0xfffffff8, -8)
	f(TypeSignedInt, 0xfffffff8, 0xfffffff8, -8)
	f(TypeUnsignedLongLong, 1<<40, 1<<40, 1<<40)
	f(TypeSignedLongLong, 1<<64-5, 1<<64-5, -5)
	f(TypeUnsignedShort, 0xeeee_0009, 9, 9)
	if v := (FieldValue{Value: notAvailable}); v.Available() {
		t.Error("NVML_VALUE_NOT_AVAILABLE is no count")
	}
	v := FieldValue{FieldID: 230, Code: InvalidArgument}
	if err := v.Err(); !IsAbsent(err) || err.Error() != "nvmlDeviceGetFieldValues(230): not known to this driver or product" {
		t.Error(err)
	}
}

func TestNotFoundOrBroken(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if err := errors.Join(driver.ErrNoDriver, errors.New(text)); NotFound(err) != want {
			t.Errorf("%s: not found %t", text, !want)
		}
	}
	f("libnvidia-ml.so.1: cannot open shared object file: No such file or directory", true)
	f("/usr/lib/libnvidia-ml.so.1: invalid ELF header", false)
	f("/usr/lib/libnvidia-ml.so.1: wrong ELF class: ELFCLASS32", false)
	f("/lib/libc.so.6: version `GLIBC_2.38' not found (required by libnvidia-ml.so.1)", false)
}

// TestVersionWord: nvmlMemory_v2 as the header has it.
func TestVersionWord(t *testing.T) {
	if v := VersionOf[MemoryInfo](2); v != 0x2000028 {
		t.Errorf("%#x", v)
	}
}
