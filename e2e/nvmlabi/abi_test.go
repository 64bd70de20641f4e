package nvmlabi

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/driver/nvml"
)

// structs pairs ours with C's: the members of C stand in the order of our fields.
var structs = []struct {
	c       string
	ours    any
	members string
}{
	{"nvmlPciInfo_t", nvml.PciInfo{}, "busIdLegacy domain bus device pciDeviceId pciSubSystemId busId"},
	{"nvmlMemory_t", nvml.MemoryV1{}, "total free used"},
	{"nvmlMemory_v2_t", nvml.MemoryInfo{}, "version total reserved free used"},
	{"nvmlBAR1Memory_t", nvml.BAR1Memory{}, "bar1Total bar1Free bar1Used"},
	{"nvmlUtilization_t", nvml.Utilization{}, "gpu memory"},
	{"nvmlTemperature_v1_t", nvml.Temperature{}, "version sensorType temperature"},
	{"nvmlMarginTemperature_v1_t", nvml.MarginTemperature{}, "version marginTemperature"},
	{"nvmlRepairStatus_v1_t", nvml.RepairStatus{}, "version bChannelRepairPending bTpcRepairPending"},
	{"nvmlUnrepairableMemoryStatus_v1_t", nvml.UnrepairableMemory{}, "bUnrepairableMemory"},
	{"nvmlEccSramErrorStatus_v1_t", nvml.SramEccErrorStatus{}, "version aggregateUncParity aggregateUncSecDed aggregateCor volatileUncParity volatileUncSecDed " +
		"volatileCor aggregateUncBucketL2 aggregateUncBucketSm aggregateUncBucketPcie aggregateUncBucketMcu aggregateUncBucketOther bThresholdExceeded"},
	{"nvmlRemappedRowsInfo_v2_t", nvml.RemappedRows{}, "corrActiveRemaps corrInactiveRemaps uncActiveRemaps uncInactiveRemaps bPending bFailureOccurred"},
	{"nvmlRowRemapperHistogramValues_t", nvml.RowRemapperHistogram{}, "max high partial low none"},
	{"nvmlFieldValue_t", nvml.FieldValue{}, "fieldId scopeId timestamp latencyUsec valueType nvmlReturn value"},
	{"nvmlProcessInfo_v1_t", nvml.ProcessInfoV1{}, "pid usedGpuMemory"},
	{"nvmlProcessInfo_t", nvml.ProcessInfo{}, "pid usedGpuMemory gpuInstanceId computeInstanceId"},
	{"nvmlGpuFabricInfo_t", nvml.FabricInfoV1{}, "clusterUuid status cliqueId state"},
	{"nvmlGpuFabricInfo_v2_t", nvml.FabricInfoV2{}, "version clusterUuid status cliqueId state healthMask"},
	{"nvmlGpuFabricInfo_v3_t", nvml.FabricInfo{}, "version clusterUuid status cliqueId state healthMask healthSummary"},
	{"nvmlEventData_t", nvml.EventData{}, "device eventType eventData gpuInstanceId computeInstanceId"},
}

// constants are C expressions and what we have for them.
var constants = map[string]uint64{
	"nvmlMemory_v2": uint64(nvml.VersionOf[nvml.MemoryInfo](2)), "nvmlTemperature_v1": uint64(nvml.VersionOf[nvml.Temperature](1)),
	"nvmlMarginTemperature_v1": uint64(nvml.VersionOf[nvml.MarginTemperature](1)), "nvmlRepairStatus_v1": uint64(nvml.VersionOf[nvml.RepairStatus](1)),
	"nvmlEccSramErrorStatus_v1": uint64(nvml.VersionOf[nvml.SramEccErrorStatus](1)), "nvmlGpuFabricInfo_v2": uint64(nvml.VersionOf[nvml.FabricInfoV2](2)),
	"nvmlGpuFabricInfo_v3": uint64(nvml.VersionOf[nvml.FabricInfo](3)),

	"NVML_CLOCK_GRAPHICS": nvml.ClockGraphics, "NVML_CLOCK_SM": nvml.ClockSM, "NVML_CLOCK_MEM": nvml.ClockMem, "NVML_CLOCK_VIDEO": nvml.ClockVideo,
	"NVML_TEMPERATURE_THRESHOLD_SHUTDOWN": nvml.ThresholdShutdown, "NVML_TEMPERATURE_THRESHOLD_SLOWDOWN": nvml.ThresholdSlowdown,
	"NVML_TEMPERATURE_THRESHOLD_MEM_MAX": nvml.ThresholdMemMax, "NVML_TEMPERATURE_THRESHOLD_GPU_MAX": nvml.ThresholdGPUMax,
	"NVML_MEMORY_ERROR_TYPE_CORRECTED": nvml.ErrorCorrected, "NVML_MEMORY_ERROR_TYPE_UNCORRECTED": nvml.ErrorUncorrected,
	"NVML_VOLATILE_ECC": nvml.CounterVolatile, "NVML_AGGREGATE_ECC": nvml.CounterAggregate,
	"NVML_MEMORY_LOCATION_L1_CACHE": nvml.LocationL1Cache, "NVML_MEMORY_LOCATION_L2_CACHE": nvml.LocationL2Cache,
	"NVML_MEMORY_LOCATION_DRAM": nvml.LocationDRAM, "NVML_MEMORY_LOCATION_REGISTER_FILE": nvml.LocationRegisterFile,
	"NVML_MEMORY_LOCATION_TEXTURE_MEMORY": nvml.LocationTextureMemory, "NVML_MEMORY_LOCATION_CBU": nvml.LocationCBU, "NVML_MEMORY_LOCATION_SRAM": nvml.LocationSRAM,
	"NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS": nvml.RetiredSingleBit, "NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR": nvml.RetiredDoubleBit,
	"NVML_NVLINK_ERROR_DL_REPLAY": nvml.LinkReplay, "NVML_NVLINK_ERROR_DL_RECOVERY": nvml.LinkRecovery, "NVML_NVLINK_ERROR_DL_CRC_FLIT": nvml.LinkCRCFlit,
	"NVML_NVLINK_ERROR_DL_CRC_DATA": nvml.LinkCRCData, "NVML_NVLINK_ERROR_DL_ECC_DATA": nvml.LinkECCData, "NVML_NVLINK_MAX_LINKS": nvml.MaxLinks,
	"NVML_NVLINK_VERSION_5_0": nvml.LinkVersion5, "NVML_NVLINK_DEVICE_TYPE_GPU": nvml.RemoteGPU, "NVML_NVLINK_DEVICE_TYPE_IBMNPU": nvml.RemoteNPU,
	"NVML_NVLINK_DEVICE_TYPE_SWITCH": nvml.RemoteSwitch, "NVML_GPU_FABRIC_STATE_NOT_SUPPORTED": nvml.FabricNotSupported,
	"NVML_GPU_FABRIC_STATE_NOT_STARTED": nvml.FabricNotStarted, "NVML_GPU_FABRIC_STATE_IN_PROGRESS": nvml.FabricInProgress,
	"NVML_GPU_FABRIC_STATE_COMPLETED": nvml.FabricCompleted,
	"nvmlClocksEventReasonGpuIdle":    nvml.ReasonGPUIdle, "nvmlClocksEventReasonApplicationsClocksSetting": nvml.ReasonApplicationClocks,
	"nvmlClocksEventReasonSwPowerCap": nvml.ReasonSWPowerCap, "nvmlClocksThrottleReasonHwSlowdown": nvml.ReasonHWSlowdown,
	"nvmlClocksEventReasonSyncBoost": nvml.ReasonSyncBoost, "nvmlClocksEventReasonSwThermalSlowdown": nvml.ReasonSWThermal,
	"nvmlClocksThrottleReasonHwThermalSlowdown": nvml.ReasonHWThermal, "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": nvml.ReasonHWPowerBrake,
	"nvmlClocksEventReasonDisplayClockSetting": nvml.ReasonDisplayClock,
	"nvmlEventTypeXidCriticalError":            nvml.EventXid, "nvmlEventTypeDoubleBitEccError": nvml.EventDoubleBitECC, "nvmlEventTypeGpuRecoveryAction": nvml.EventRecoveryAction,
	"NVML_GPU_RECOVERY_ACTION_NONE": nvml.RecoveryNone, "NVML_GPU_RECOVERY_ACTION_GPU_RESET": nvml.RecoveryReset,
	"NVML_GPU_RECOVERY_ACTION_NODE_REBOOT": nvml.RecoveryReboot, "NVML_GPU_RECOVERY_ACTION_DRAIN_P2P": nvml.RecoveryDrainP2P,
	"NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET": nvml.RecoveryDrainReset, "NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN": nvml.RecoveryIMEX,
	"NVML_GPU_RECOVERY_ACTION_BUS_RESET": nvml.RecoveryBusReset, "NVML_GPU_RECOVERY_ACTION_SYSTEM_REBOOT": nvml.RecoverySystemReboot,

	"NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP": nvml.FieldPerfPolicyPower, "NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST": nvml.FieldPerfPolicySyncBoost,
	"NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN": nvml.FieldSWThermalSlowdown, "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN": nvml.FieldHWThermalSlowdown,
	"NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN": nvml.FieldHWPowerBrake,
	"NVML_FI_DEV_MEMORY_TEMP":                                 nvml.FieldMemoryTemp, "NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER": nvml.FieldPCIeReplayRollover,
	"NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY": nvml.FieldLinkReplay, "NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY": nvml.FieldLinkRecovery,
	"NVML_FI_DEV_NVLINK_ERROR_DL_CRC": nvml.FieldLinkCRC, "NVML_FI_DEV_POWER_AVERAGE": nvml.FieldPowerAverage, "NVML_FI_DEV_POWER_INSTANT": nvml.FieldPowerInstant,
	"NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT": nvml.FieldShutdownTLimit, "NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT": nvml.FieldSlowdownTLimit,
	"NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT": nvml.FieldMemMaxTLimit, "NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT": nvml.FieldGPUMaxTLimit,
	"NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS": nvml.FieldLinkMalformed, "NVML_FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS": nvml.FieldLinkBufferOverrun,
	"NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS": nvml.FieldLinkRcvErrors, "NVML_FI_DEV_NVLINK_COUNT_RCV_REMOTE_ERRORS": nvml.FieldLinkRcvRemote,
	"NVML_FI_DEV_NVLINK_COUNT_RCV_GENERAL_ERRORS": nvml.FieldLinkRcvGeneral, "NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS": nvml.FieldLinkLocalIntegrity,
	"NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS": nvml.FieldLinkRecoveryOK,
	"NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS":     nvml.FieldLinkRecoveryFailed, "NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS": nvml.FieldLinkRecoveryEvents,
	"NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS": nvml.FieldLinkEffective, "NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS": nvml.FieldLinkSymbol,
	"NVML_FI_DEV_RESET_STATUS": nvml.FieldResetStatus, "NVML_FI_DEV_DRAIN_AND_RESET_STATUS": nvml.FieldDrainAndResetStatus,
	"NVML_FI_DEV_GET_GPU_RECOVERY_ACTION": nvml.FieldRecoveryAction, "NVML_FI_DEV_REMAPPED_ROWS_COR_INACTIVE": nvml.FieldRemappedCorInactive,
	"NVML_FI_DEV_REMAPPED_ROWS_UNC_INACTIVE": nvml.FieldRemappedUncInactive,

	"NVML_VALUE_TYPE_DOUBLE": nvml.TypeDouble, "NVML_VALUE_TYPE_UNSIGNED_INT": nvml.TypeUnsignedInt, "NVML_VALUE_TYPE_UNSIGNED_LONG": nvml.TypeUnsignedLong,
	"NVML_VALUE_TYPE_UNSIGNED_LONG_LONG": nvml.TypeUnsignedLongLong, "NVML_VALUE_TYPE_SIGNED_LONG_LONG": nvml.TypeSignedLongLong,
	"NVML_VALUE_TYPE_SIGNED_INT": nvml.TypeSignedInt, "NVML_VALUE_TYPE_UNSIGNED_SHORT": nvml.TypeUnsignedShort,
}

// headerDir is where the module with the header lies.
func headerDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "pkg", "nvml")
	if _, statErr := os.Stat(filepath.Join(dir, "nvml.h")); err != nil || statErr != nil {
		t.Fatalf("find nvml.h: %v, %v (go mod download fetches it)", err, statErr)
	}
	return dir
}

func gcc(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	if out, err := exec.Command("gcc", append([]string{"-I", headerDir(t)}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
}

// TestLayoutsAndConstants prints what the C compiler makes of the header and compares.
func TestLayoutsAndConstants(t *testing.T) {
	want := map[string]string{}
	var src strings.Builder
	src.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include \"nvml.h\"\nint main(void) {\n")
	ask := func(name, expr, ours string) {
		want[name] = ours
		fmt.Fprintf(&src, "printf(\"%%s\\t%%llu\\n\", \"%s\", (unsigned long long)(%s));\n", name, expr)
	}
	for _, s := range structs {
		typ := reflect.TypeOf(s.ours)
		ask("sizeof "+s.c, "sizeof("+s.c+")", fmt.Sprint(typ.Size()))
		members := strings.Fields(s.members)
		if len(members) != typ.NumField() {
			t.Fatalf("%s: %d members for %d fields", s.c, len(members), typ.NumField())
		}
		for i, m := range members {
			f := typ.Field(i)
			ask(s.c+"."+m, "offsetof("+s.c+", "+m+")", fmt.Sprint(f.Offset))
			ask("sizeof "+s.c+"."+m, "sizeof((("+s.c+" *)0)->"+m+")", fmt.Sprint(f.Type.Size()))
		}
	}
	for name, ours := range constants {
		ask(name, name, fmt.Sprint(ours))
	}
	for r := nvml.Return(0); r < 31; r++ {
		ask(r.String(), r.String(), fmt.Sprint(int32(r)))
	}
	ask(nvml.Unknown.String(), nvml.Unknown.String(), fmt.Sprint(int32(nvml.Unknown)))
	src.WriteString("return 0;\n}\n")
	dir := t.TempDir()
	c, prog := filepath.Join(dir, "abi.c"), filepath.Join(dir, "abi")
	if err := os.WriteFile(c, []byte(src.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	gcc(t, "-o", prog, c)
	out, err := exec.Command(prog).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, theirs, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if ours, ok := want[name]; !ok || ours != theirs {
			t.Errorf("%s: %s in nvml.h, ours %s", name, theirs, ours)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("not compared: %v", want)
	}
}

// TestFunctionsExist: every function that the bindings name is declared in the header,
// but for those that it has dropped since.
func TestFunctionsExist(t *testing.T) {
	dropped := map[string]bool{
		"nvmlDeviceGetPowerState": true, // deprecated since R319; nvmlDeviceGetPerformanceState came first
	}
	header, err := os.ReadFile(filepath.Join(headerDir(t), "nvml.h"))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../../internal/driver/nvml/*.go")
	quoted := regexp.MustCompile(`"(nvml[A-Z]\w+)"`)
	n := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quoted.FindAllSubmatch(b, -1) {
			n++
			declared := regexp.MustCompile(`DECLDIR ` + string(m[1]) + `\s*\(`)
			if !declared.Match(header) && !dropped[string(m[1])] {
				t.Errorf("%s: %s is not declared in nvml.h", filepath.Base(f), m[1])
			}
		}
	}
	if n < 80 {
		t.Errorf("only %d functions found", n)
	}
}

// TestFakeMatchesHeader compiles the fake library with NVIDIA's declarations in place of
// its own: a function of another signature does not compile. The bindings are tested
// against the fake, so that their signatures are held to the header as well.
func TestFakeMatchesHeader(t *testing.T) {
	const fake = "../../internal/probe/gpu/testdata/fake/nvml.c"
	src, err := os.ReadFile(fake)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(src, []byte("NVML_HEADER")) {
		t.Fatal("the fake does not include the header when told to")
	}
	gcc(t, "-fsyntax-only", "-Werror=incompatible-pointer-types", "-Werror=int-conversion", "-Wno-deprecated-declarations", "-DNVML_HEADER", "-DNVML_NO_UNVERSIONED_FUNC_DEFS", fake)
}
