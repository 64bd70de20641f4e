/* What the fake needs of NVIDIA's nvml.h, in our own words. With -DNVML_HEADER the real
 * header takes its place: e2e/nvmlabi compiles it so, and any difference is an error. */
typedef int nvmlReturn_t;
typedef struct { struct nvmlDevice_st *handle; } nvmlDevice_t;
typedef struct { struct nvmlEventSet_st *handle; } nvmlEventSet_t;

typedef unsigned int nvmlEnableState_t, nvmlComputeMode_t, nvmlPstates_t, nvmlBrandType_t, nvmlDeviceArchitecture_t,
    nvmlGpuVirtualizationMode_t, nvmlClockType_t, nvmlTemperatureSensors_t, nvmlTemperatureThresholds_t,
    nvmlMemoryErrorType_t, nvmlEccCounterType_t, nvmlMemoryLocation_t, nvmlPageRetirementCause_t,
    nvmlNvLinkErrorCounter_t, nvmlIntNvLinkDeviceType_t, nvmlGpuTopologyLevel_t, nvmlValueType_t;
typedef unsigned char nvmlGpuFabricState_t;

typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct { unsigned int version; unsigned long long total, reserved, free, used; } nvmlMemory_v2_t;
typedef struct { unsigned long long bar1Total, bar1Free, bar1Used; } nvmlBAR1Memory_t;
typedef struct { unsigned int gpu, memory; } nvmlUtilization_t;
typedef struct {
    char busIdLegacy[16];
    unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;
typedef struct { unsigned int version; nvmlTemperatureSensors_t sensorType; int temperature; } nvmlTemperature_v1_t, nvmlTemperature_t;
typedef struct { unsigned int version; int marginTemperature; } nvmlMarginTemperature_v1_t, nvmlMarginTemperature_t;
typedef struct { unsigned int version, bChannelRepairPending, bTpcRepairPending; } nvmlRepairStatus_v1_t, nvmlRepairStatus_t;
typedef struct { unsigned int bUnrepairableMemory; } nvmlUnrepairableMemoryStatus_v1_t;
typedef struct {
    unsigned int version;
    unsigned long long aggregateUncParity, aggregateUncSecDed, aggregateCor, volatileUncParity, volatileUncSecDed, volatileCor,
        aggregateUncBucketL2, aggregateUncBucketSm, aggregateUncBucketPcie, aggregateUncBucketMcu, aggregateUncBucketOther;
    unsigned int bThresholdExceeded;
} nvmlEccSramErrorStatus_v1_t, nvmlEccSramErrorStatus_t;
typedef struct { unsigned int corrActiveRemaps, corrInactiveRemaps, uncActiveRemaps, uncInactiveRemaps, bPending, bFailureOccurred; } nvmlRemappedRowsInfo_v2_t;
typedef struct { unsigned int max, high, partial, low, none; } nvmlRowRemapperHistogramValues_t;
typedef union { double dVal; int siVal; unsigned int uiVal; unsigned long long ullVal; long long sllVal; } nvmlValue_t;
typedef struct {
    unsigned int fieldId, scopeId;
    long long timestamp, latencyUsec;
    nvmlValueType_t valueType;
    nvmlReturn_t nvmlReturn;
    nvmlValue_t value;
} nvmlFieldValue_t;
typedef struct { unsigned int pid; unsigned long long usedGpuMemory; } nvmlProcessInfo_v1_t;
typedef struct { unsigned int pid; unsigned long long usedGpuMemory; unsigned int gpuInstanceId, computeInstanceId; } nvmlProcessInfo_t, nvmlProcessInfo_v2_t;
typedef struct { unsigned char clusterUuid[16]; nvmlReturn_t status; unsigned int cliqueId; nvmlGpuFabricState_t state; } nvmlGpuFabricInfo_t;
typedef struct {
    unsigned int version;
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned int cliqueId;
    nvmlGpuFabricState_t state;
    unsigned int healthMask;
} nvmlGpuFabricInfo_v2_t;
typedef struct {
    unsigned int version;
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned int cliqueId;
    nvmlGpuFabricState_t state;
    unsigned int healthMask;
    unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t, nvmlGpuFabricInfoV_t;
typedef struct {
    nvmlDevice_t device;
    unsigned long long eventType, eventData;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlEventData_t;
