/* A libnvidia-ml.so.1 whose GPUs are a text file, for the tests of the probe.
 *
 * NVML_FAKE names the file. Lines are key=value; "include=FILE" reads another one of the
 * same folder first, "#" begins a comment, and a later line wins:
 *
 *   gpus=8                         init=9 (a return code)       driver=580.95.05
 *   gpu.*.serial=1650000000001     of every GPU; gpu.3.… of one; gpu.0.mig.1.… of an instance
 *   gpu.3.serial=!15               the call returns this code
 *   gpu.3.ret=15                   so does every call about that GPU but those about its name
 *   gpu.*.field.193=-8:5           a field with its value type; field.161.7 of link 7
 *   hang=nvmlDeviceGetMemoryInfo_v2 3    this call never returns (for GPU 3)
 *
 * A key that is not there is a thing that the GPU does not have (NOT_SUPPORTED). With -DOLD
 * the library has only what a driver of R450 had. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef NVML_HEADER
#include "nvml.h"
#else
#include "declarations.h"
#endif

#define OK 0
#define INVALID 2
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define INSUFFICIENT_SIZE 7
#define TIMED_OUT 10
#define VERSION_MISMATCH 25

#ifndef NAP
#define NAP 50 /* ms: how often it looks for a new scenario while an event is waited for */
#endif

typedef unsigned int u32;
typedef unsigned long long u64;

/* The scenario. */

static struct { char key[640], value[640]; } lines[2048];
static int count;

static void load(const char *path) {
    char buf[640], other[1024];
    FILE *f = fopen(path, "r");
    if (f == NULL) { fprintf(stderr, "fake nvml: cannot open %s\n", path); abort(); }
    while (fgets(buf, sizeof buf, f) != NULL) {
        char *eq = strchr(buf, '=');
        buf[strcspn(buf, "\n")] = 0;
        if (buf[0] == '#' || eq == NULL) continue;
        *eq = 0;
        if (strcmp(buf, "include") == 0) {
            const char *slash = eq[1] == '/' ? NULL : strrchr(path, '/');
            snprintf(other, sizeof other, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, eq + 1);
            load(other);
            continue;
        }
        if (count == (int)(sizeof lines / sizeof *lines)) abort();
        snprintf(lines[count].key, sizeof lines[count].key, "%s", buf);
        snprintf(lines[count].value, sizeof lines[count].value, "%s", eq + 1);
        count++;
    }
    fclose(f);
}

/* The scenario may be replaced (by rename) while a program runs. */
static char sent[64];
static void reload(void) {
    static struct timespec looked;
    static struct stat seen;
    struct timespec now;
    struct stat st;
    const char *path = getenv("NVML_FAKE") ? getenv("NVML_FAKE") : "";
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (count > 0 && (now.tv_sec - looked.tv_sec) * 1000 + (now.tv_nsec - looked.tv_nsec) / 1000000 < 10) return;
    looked = now;
    if (stat(path, &st) != 0 || (count > 0 && st.st_ino == seen.st_ino && st.st_mtim.tv_nsec == seen.st_mtim.tv_nsec && st.st_mtim.tv_sec == seen.st_mtim.tv_sec)) {
        if (count == 0) load(path);
        return;
    }
    seen = st;
    count = 0;
    memset(sent, 0, sizeof sent);
    load(path);
}

static const char *find(const char *key, const char *wild) {
    reload();
    for (int i = count - 1; i >= 0; i--)
        if (strcmp(lines[i].key, key) == 0 || (wild != NULL && strcmp(lines[i].key, wild) == 0)) return lines[i].value;
    return NULL;
}

static u64 global(const char *key, u64 otherwise) {
    const char *v = find(key, NULL);
    return v ? strtoull(v, NULL, 0) : otherwise;
}

/* Handles: GPU i is i+1, its MIG instance j is (i+1)<<8 | (j+1). */

static int gpu_of(nvmlDevice_t d) { uintptr_t h = (uintptr_t)d.handle; return (int)(h > 255 ? h >> 8 : h) - 1; }
static int mig_of(nvmlDevice_t d) { uintptr_t h = (uintptr_t)d.handle; return h > 255 ? (int)(h & 255) - 1 : -1; }

static const char *property(nvmlDevice_t d, const char *name) {
    char key[96], wild[96];
    if (mig_of(d) >= 0) {
        snprintf(key, sizeof key, "gpu.%d.mig.%d.%s", gpu_of(d), mig_of(d), name);
        return find(key, NULL);
    }
    snprintf(key, sizeof key, "gpu.%d.%s", gpu_of(d), name);
    snprintf(wild, sizeof wild, "gpu.*.%s", name);
    return find(key, wild);
}

static void perhaps_hang(const char *function, int gpu) {
    const char *h = find("hang", NULL);
    size_t n = strlen(function);
    if (h == NULL || strncmp(h, function, n) != 0) return;
    if (h[n] == 0 || (h[n] == ' ' && atoi(h + n) == gpu))
        for (;;) pause();
}

static nvmlReturn_t enter(const char *function, nvmlDevice_t d) {
    perhaps_hang(function, gpu_of(d));
    const char *ret = property(d, "ret");
    return ret ? (nvmlReturn_t)atoi(ret) : OK;
}
#define ENTER(f) do { nvmlReturn_t r_ = enter(f, d); if (r_ != OK) return r_; } while (0)

/* number reads a property; "!N" is a return code. */
static nvmlReturn_t number(nvmlDevice_t d, const char *name, u64 *v) {
    const char *s = property(d, name);
    if (s == NULL) return NOT_SUPPORTED;
    if (s[0] == '!') return (nvmlReturn_t)atoi(s + 1);
    *v = (u64)strtoll(s, NULL, 0);
    return OK;
}

static nvmlReturn_t string(nvmlDevice_t d, const char *name, char *to, u32 size) {
    const char *s = property(d, name);
    if (s == NULL) return NOT_SUPPORTED;
    if (s[0] == '!') return (nvmlReturn_t)atoi(s + 1);
    if (strlen(s) >= size) return INSUFFICIENT_SIZE;
    strcpy(to, s);
    return OK;
}

static u64 part(nvmlDevice_t d, const char *name, u64 otherwise) {
    u64 v = otherwise;
    number(d, name, &v);
    return v;
}

/* Functions that are all alike. */

#define NUM(type, f, name) nvmlReturn_t f(nvmlDevice_t d, type *v) { \
    u64 n = 0; ENTER(#f); nvmlReturn_t r = number(d, name, &n); *v = (type)n; return r; }
#define CHOSEN(kind, type, f, name) nvmlReturn_t f(nvmlDevice_t d, kind k, type *v) { \
    u64 n = 0; char key[64]; ENTER(#f); snprintf(key, sizeof key, name ".%u", (u32)k); \
    nvmlReturn_t r = number(d, key, &n); *v = (type)n; return r; }
#define PAIR(a, b, f, name1, name2) nvmlReturn_t f(nvmlDevice_t d, a *v, b *w) { \
    u64 n = 0, m = 0; ENTER(#f); nvmlReturn_t r = number(d, name1, &n); if (r == OK) r = number(d, name2, &m); \
    *v = (a)n; *w = (b)m; return r; }
#define TEXT(f, name) nvmlReturn_t f(nvmlDevice_t d, char *s, u32 size) { ENTER(#f); return string(d, name, s, size); }
/* Names are known even of a GPU that is lost. */
#define NAME(f, name) nvmlReturn_t f(nvmlDevice_t d, char *s, u32 size) { perhaps_hang(#f, gpu_of(d)); return string(d, name, s, size); }

static nvmlReturn_t start(const char *f) {
    perhaps_hang(f, -1);
    return (nvmlReturn_t)global("init", OK);
}

nvmlReturn_t nvmlInit(void) { return start("nvmlInit"); }
nvmlReturn_t nvmlInit_v2(void) { return start("nvmlInit_v2"); }
nvmlReturn_t nvmlShutdown(void) { perhaps_hang("nvmlShutdown", -1); return OK; }

static nvmlReturn_t say(const char *key, char *to, u32 size) {
    const char *s = find(key, NULL);
    snprintf(to, size, "%s", s ? s : "");
    return s ? OK : NOT_SUPPORTED;
}
nvmlReturn_t nvmlSystemGetDriverVersion(char *v, u32 n) { return say("driver", v, n); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *v, u32 n) { return say("nvml", v, n); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *v) { *v = (int)global("cuda", 0); return OK; }
#ifndef OLD
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *v) { return nvmlSystemGetCudaDriverVersion(v); }
#endif

nvmlReturn_t nvmlDeviceGetCount_v2(u32 *v) { perhaps_hang("nvmlDeviceGetCount_v2", -1); *v = (u32)global("gpus", 0); return OK; }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(u32 i, nvmlDevice_t *d) {
    u64 n;
    if (i >= global("gpus", 0)) return INVALID;
    d->handle = (void *)(uintptr_t)(i + 1);
    perhaps_hang("nvmlDeviceGetHandleByIndex_v2", (int)i);
    nvmlReturn_t r = number(*d, "handle", &n);
    return r == NOT_SUPPORTED ? OK : r;
}

static void address(nvmlDevice_t d, nvmlPciInfo_t *p) {
    const char *s = property(d, "pci");
    memset(p, 0, sizeof *p);
    p->bus = (u32)(0x0a + 0x10 * gpu_of(d));
    if (s != NULL) snprintf(p->busId, sizeof p->busId, "%s", s);
    else snprintf(p->busId, sizeof p->busId, "00000000:%02X:00.0", p->bus & 0xff);
    p->pciDeviceId = 0x233010de;
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pci, nvmlDevice_t *d) {
    for (u32 i = 0; i < global("gpus", 0); i++) {
        nvmlPciInfo_t p;
        d->handle = (void *)(uintptr_t)(i + 1);
        address(*d, &p);
        if (strcasecmp(p.busId, pci) == 0 || strcasecmp(p.busId + 4, pci) == 0) return OK;
    }
    return NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t d, nvmlPciInfo_t *p) { address(d, p); return OK; }
#ifndef OLD
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *p) { perhaps_hang("nvmlDeviceGetPciInfo_v3", gpu_of(d)); address(d, p); return OK; }
#endif
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t d, u32 *v) { *v = (u32)gpu_of(d); return OK; }
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t d, u32 *v) { *v = (u32)gpu_of(d); return OK; }
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *s, u32 n) {
    perhaps_hang("nvmlDeviceGetUUID", gpu_of(d));
    if (property(d, "uuid")) return string(d, "uuid", s, n);
    snprintf(s, n, "GPU-f1c0b9a%x-1111-4a4a-9c9c-0a0b0c0d0e0f", (u32)gpu_of(d) & 15);
    return OK;
}

NAME(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
TEXT(nvmlDeviceGetBoardPartNumber, "board")
TEXT(nvmlDeviceGetInforomImageVersion, "inforom")
nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t d) { u64 n; ENTER("nvmlDeviceValidateInforom"); return number(d, "inforom.valid", &n); }
NUM(nvmlBrandType_t, nvmlDeviceGetBrand, "brand")
NUM(nvmlEnableState_t, nvmlDeviceGetPersistenceMode, "persistence")
NUM(nvmlComputeMode_t, nvmlDeviceGetComputeMode, "compute")
NUM(nvmlGpuVirtualizationMode_t, nvmlDeviceGetVirtualizationMode, "virtualization")
NUM(nvmlPstates_t, nvmlDeviceGetPerformanceState, "pstate")
PAIR(u32, u32, nvmlDeviceGetMigMode, "mig.current", "mig.pending")
PAIR(nvmlEnableState_t, nvmlEnableState_t, nvmlDeviceGetEccMode, "ecc.current", "ecc.pending")
NUM(u32, nvmlDeviceGetMaxMigDeviceCount, "mig.max")
NUM(u32, nvmlDeviceGetGpuInstanceId, "gi")
NUM(u32, nvmlDeviceGetComputeInstanceId, "ci")
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, u32 i, nvmlDevice_t *m) {
    ENTER("nvmlDeviceGetMigDeviceHandleByIndex");
    m->handle = (void *)((uintptr_t)(gpu_of(d) + 1) << 8 | (i + 1));
    return property(*m, "uuid") ? OK : NOT_FOUND;
}
#ifndef OLD
NUM(nvmlDeviceArchitecture_t, nvmlDeviceGetArchitecture, "architecture")
nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t d, char *s) { ENTER("nvmlDeviceGetGspFirmwareVersion"); return string(d, "gsp", s, 64); }
PAIR(u32, u32, nvmlDeviceGetGspFirmwareMode, "gsp.mode", "gsp.mode")
#endif

/* Load. */

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u) {
    u64 n = 0;
    ENTER("nvmlDeviceGetUtilizationRates");
    nvmlReturn_t r = number(d, "util.gpu", &n);
    u->gpu = (u32)n;
    u->memory = (u32)part(d, "util.memory", 0);
    return r;
}
PAIR(u32, u32, nvmlDeviceGetEncoderUtilization, "util.encoder", "util.encoder")
PAIR(u32, u32, nvmlDeviceGetDecoderUtilization, "util.decoder", "util.decoder")
CHOSEN(nvmlClockType_t, u32, nvmlDeviceGetClockInfo, "clock")
CHOSEN(nvmlClockType_t, u32, nvmlDeviceGetMaxClockInfo, "clock.max")
CHOSEN(nvmlClockType_t, u32, nvmlDeviceGetApplicationsClock, "clock.app")
NUM(u64, nvmlDeviceGetCurrentClocksThrottleReasons, "reasons")
NUM(u32, nvmlDeviceGetFanSpeed, "fan")
NUM(u32, nvmlDeviceGetPowerUsage, "power")
NUM(u32, nvmlDeviceGetPowerManagementLimit, "power.limit")
NUM(u32, nvmlDeviceGetEnforcedPowerLimit, "power.enforced")
NUM(u32, nvmlDeviceGetPowerManagementDefaultLimit, "power.default")
PAIR(u32, u32, nvmlDeviceGetPowerManagementLimitConstraints, "power.min", "power.max")
CHOSEN(nvmlTemperatureSensors_t, u32, nvmlDeviceGetTemperature, "temperature")
CHOSEN(nvmlTemperatureThresholds_t, u32, nvmlDeviceGetTemperatureThreshold, "threshold")
#ifndef OLD
PAIR(u32, u32, nvmlDeviceGetJpgUtilization, "util.jpeg", "util.jpeg")
PAIR(u32, u32, nvmlDeviceGetOfaUtilization, "util.ofa", "util.ofa")
NUM(u64, nvmlDeviceGetCurrentClocksEventReasons, "reasons")
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t d, nvmlTemperature_t *t) {
    u64 n = 0;
    if (t->version != (sizeof *t | 1u << 24)) return VERSION_MISMATCH;
    ENTER("nvmlDeviceGetTemperatureV");
    nvmlReturn_t r = number(d, "temperature.0", &n);
    t->temperature = (int)n;
    return r;
}
nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t d, nvmlMarginTemperature_t *t) {
    u64 n = 0;
    if (t->version != (sizeof *t | 1u << 24)) return VERSION_MISMATCH;
    ENTER("nvmlDeviceGetMarginTemperature");
    nvmlReturn_t r = number(d, "margin", &n);
    t->marginTemperature = (int)n;
    return r;
}
#endif

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *v) {
    ENTER("nvmlDeviceGetFieldValues");
    for (int i = 0; i < n; i++) {
        char key[64];
        snprintf(key, sizeof key, "field.%u.%u", v[i].fieldId, v[i].scopeId);
        const char *s = property(d, key);
        snprintf(key, sizeof key, "field.%u", v[i].fieldId);
        if (s == NULL) s = property(d, key);
        v[i].nvmlReturn = s == NULL ? NOT_SUPPORTED : s[0] == '!' ? atoi(s + 1) : OK;
        if (v[i].nvmlReturn != OK) continue;
        const char *type = strchr(s, ':');
        v[i].valueType = type ? atoi(type + 1) : 1;
        if (v[i].valueType == 1 || v[i].valueType == 5) {
            memset(&v[i].value, 0xee, sizeof v[i].value); /* a driver fills only its part of the union */
            v[i].value.siVal = (int)strtoll(s, NULL, 0);
        } else {
            v[i].value.sllVal = strtoll(s, NULL, 0);
        }
    }
    return OK;
}

/* Memory. */

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m) {
    u64 n = 0;
    ENTER("nvmlDeviceGetMemoryInfo");
    nvmlReturn_t r = number(d, "mem.total", &n);
    m->total = n << 20;
    m->used = (part(d, "mem.used", 0) + part(d, "mem.reserved", 0)) << 20;
    m->free = m->total - m->used;
    return r;
}
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t d, nvmlBAR1Memory_t *m) {
    u64 n = 0;
    ENTER("nvmlDeviceGetBAR1MemoryInfo");
    nvmlReturn_t r = number(d, "bar1.total", &n);
    m->bar1Total = n << 20;
    m->bar1Used = part(d, "bar1.used", 0) << 20;
    m->bar1Free = m->bar1Total - m->bar1Used;
    return r;
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, nvmlMemoryErrorType_t e, nvmlEccCounterType_t c, u64 *v) {
    char key[64];
    ENTER("nvmlDeviceGetTotalEccErrors");
    snprintf(key, sizeof key, "ecc.%u.%u", (u32)e, (u32)c);
    return number(d, key, v);
}
nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t d, nvmlMemoryErrorType_t e, nvmlEccCounterType_t c, nvmlMemoryLocation_t l, u64 *v) {
    char key[64];
    ENTER("nvmlDeviceGetMemoryErrorCounter");
    snprintf(key, sizeof key, "ecc.%u.%u.%u", (u32)e, (u32)c, (u32)l);
    return number(d, key, v);
}
nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t d, nvmlPageRetirementCause_t c, u32 *pages, u64 *addresses) {
    char key[64];
    u64 n = 0;
    ENTER("nvmlDeviceGetRetiredPages");
    snprintf(key, sizeof key, "retired.%u", (u32)c);
    nvmlReturn_t r = number(d, key, &n);
    if (r == OK && addresses == NULL && n > 0) r = INSUFFICIENT_SIZE;
    *pages = (u32)n;
    return r;
}
NUM(nvmlEnableState_t, nvmlDeviceGetRetiredPagesPendingStatus, "retired.pending")
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, u32 *cor, u32 *unc, u32 *pending, u32 *failure) {
    u64 n = 0;
    ENTER("nvmlDeviceGetRemappedRows");
    nvmlReturn_t r = number(d, "remap.cor", &n);
    *cor = (u32)n;
    *unc = (u32)part(d, "remap.unc", 0);
    *pending = (u32)part(d, "remap.pending", 0);
    *failure = (u32)part(d, "remap.failure", 0);
    return r;
}
#ifndef OLD
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *m) {
    u64 n = 0;
    if (m->version != (sizeof *m | 2u << 24)) return VERSION_MISMATCH;
    ENTER("nvmlDeviceGetMemoryInfo_v2");
    nvmlReturn_t r = number(d, "mem.total", &n);
    m->total = n << 20;
    m->reserved = part(d, "mem.reserved", 0) << 20;
    m->used = part(d, "mem.used", 0) << 20;
    m->free = m->total - m->used - m->reserved;
    return r;
}
nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t d, nvmlEccSramErrorStatus_t *s) {
    u64 n = 0;
    if (s->version != (sizeof *s | 1u << 24)) return VERSION_MISMATCH;
    ENTER("nvmlDeviceGetSramEccErrorStatus");
    nvmlReturn_t r = number(d, "sram.threshold", &n);
    s->bThresholdExceeded = (u32)n;
    s->aggregateUncParity = part(d, "sram.1.parity", 0);
    s->aggregateUncSecDed = part(d, "sram.1.secded", 0);
    s->volatileUncParity = part(d, "sram.0.parity", 0);
    s->volatileUncSecDed = part(d, "sram.0.secded", 0);
    return r;
}
nvmlReturn_t nvmlDeviceGetRepairStatus(nvmlDevice_t d, nvmlRepairStatus_t *s) {
    u64 n = 0;
    if (s->version != (sizeof *s | 1u << 24)) return VERSION_MISMATCH;
    ENTER("nvmlDeviceGetRepairStatus");
    nvmlReturn_t r = number(d, "repair.channel", &n);
    s->bChannelRepairPending = (u32)n;
    s->bTpcRepairPending = (u32)part(d, "repair.tpc", 0);
    return r;
}
nvmlReturn_t nvmlDeviceGetUnrepairableMemoryFlag_v1(nvmlDevice_t d, nvmlUnrepairableMemoryStatus_v1_t *s) {
    u64 n = 0;
    ENTER("nvmlDeviceGetUnrepairableMemoryFlag_v1");
    nvmlReturn_t r = number(d, "unrepairable", &n);
    s->bUnrepairableMemory = (u32)n;
    return r;
}
nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t d, nvmlRowRemapperHistogramValues_t *h) {
    u64 n = 0;
    ENTER("nvmlDeviceGetRowRemapperHistogram");
    nvmlReturn_t r = number(d, "histogram.max", &n);
    h->max = (u32)n;
    h->high = (u32)part(d, "histogram.high", 0);
    h->partial = (u32)part(d, "histogram.partial", 0);
    h->low = (u32)part(d, "histogram.low", 0);
    h->none = (u32)part(d, "histogram.none", 0);
    return r;
}
#endif

/* Links. */

NUM(u32, nvmlDeviceGetCurrPcieLinkGeneration, "pcie.gen")
NUM(u32, nvmlDeviceGetMaxPcieLinkGeneration, "pcie.gen.max")
NUM(u32, nvmlDeviceGetCurrPcieLinkWidth, "pcie.width")
NUM(u32, nvmlDeviceGetMaxPcieLinkWidth, "pcie.width.max")
NUM(u32, nvmlDeviceGetPcieReplayCounter, "pcie.replays")

/* of_link reads a property of a link: link.7.state before link.state, which counts for the
 * first nvlinks links. */
static nvmlReturn_t of_link(nvmlDevice_t d, u32 l, const char *what, u64 *v) {
    char key[64];
    const char *most = property(d, "nvlinks");
    if (most == NULL) return NOT_SUPPORTED;
    if (l >= (u32)atoi(most)) return INVALID;
    snprintf(key, sizeof key, "link.%u.%s", l, what);
    if (property(d, key) == NULL) snprintf(key, sizeof key, "link.%s", what);
    return number(d, key, v);
}
#define LINK(type, f, what) nvmlReturn_t f(nvmlDevice_t d, u32 l, type *v) { \
    u64 n = 0; ENTER(#f); nvmlReturn_t r = of_link(d, l, what, &n); *v = (type)n; return r; }
LINK(nvmlEnableState_t, nvmlDeviceGetNvLinkState, "state")
LINK(u32, nvmlDeviceGetNvLinkVersion, "version")
nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t d, u32 l, nvmlNvLinkErrorCounter_t c, u64 *v) {
    char what[32];
    ENTER("nvmlDeviceGetNvLinkErrorCounter");
    snprintf(what, sizeof what, "errors.%u", (u32)c);
    return of_link(d, l, what, v);
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t d, u32 l, nvmlPciInfo_t *p) {
    u64 n = 0;
    ENTER("nvmlDeviceGetNvLinkRemotePciInfo_v2");
    nvmlReturn_t r = of_link(d, l, "remote", &n);
    memset(p, 0, sizeof *p);
    snprintf(p->busId, sizeof p->busId, "00000000:%02X:00.0", (u32)n & 0xff);
    return r;
}
#ifndef OLD
NUM(u32, nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie.gen.device")
LINK(nvmlIntNvLinkDeviceType_t, nvmlDeviceGetNvLinkRemoteDeviceType, "remote.type")
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t d, nvmlGpuFabricInfo_t *f) {
    u64 n = 0;
    ENTER("nvmlDeviceGetGpuFabricInfo");
    nvmlReturn_t r = number(d, "fabric.state", &n);
    memset(f, 0, sizeof *f);
    f->state = (nvmlGpuFabricState_t)n;
    f->status = (nvmlReturn_t)part(d, "fabric.status", 0);
    return r;
}
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t d, nvmlGpuFabricInfoV_t *f) {
    u64 n = 0;
    u32 newest = (u32)part(d, "fabric.version", 3), version = f->version;
    ENTER("nvmlDeviceGetGpuFabricInfoV");
    if (version >> 24 > newest) return VERSION_MISMATCH;
    if (version != (sizeof(nvmlGpuFabricInfo_v3_t) | 3u << 24) && version != (sizeof(nvmlGpuFabricInfo_v2_t) | 2u << 24)) return VERSION_MISMATCH;
    nvmlReturn_t r = number(d, "fabric.state", &n);
    f->state = (nvmlGpuFabricState_t)n;
    f->status = (nvmlReturn_t)part(d, "fabric.status", 0);
    f->cliqueId = (u32)part(d, "fabric.clique", 0);
    f->healthMask = (u32)part(d, "fabric.health", 0);
    if (version >> 24 == 3) ((nvmlGpuFabricInfo_v3_t *)f)->healthSummary = (unsigned char)part(d, "fabric.summary", 0);
    return r;
}
#endif
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t d, nvmlDevice_t e, nvmlGpuTopologyLevel_t *l) {
    (void)e;
    ENTER("nvmlDeviceGetTopologyCommonAncestor");
    *l = (nvmlGpuTopologyLevel_t)part(d, "topology", 50);
    return OK;
}

/* Processes: "PID:MiB" or "PID:MiB:GPU instance:compute instance", by comma. MiB -1 is
 * "not available". */

static nvmlReturn_t processes(nvmlDevice_t d, const char *name, u32 *n, nvmlProcessInfo_t *list) {
    char copy[512];
    u32 found = 0;
    const char *s = property(d, name);
    if (s == NULL) { *n = 0; return OK; }
    if (s[0] == '!') return (nvmlReturn_t)atoi(s + 1);
    snprintf(copy, sizeof copy, "%s", s);
    for (char *p = strtok(copy, ","); p != NULL; p = strtok(NULL, ",")) {
        u32 pid = 0, gi = 0xffffffff, ci = 0xffffffff;
        long long mib = 0;
        sscanf(p, "%u:%lld:%u:%u", &pid, &mib, &gi, &ci);
        if (found < *n && list != NULL) {
            list[found].pid = pid;
            list[found].usedGpuMemory = mib < 0 ? (u64)-1 : (u64)mib << 20;
            list[found].gpuInstanceId = gi;
            list[found].computeInstanceId = ci;
        }
        found++;
    }
    nvmlReturn_t r = found > *n ? INSUFFICIENT_SIZE : OK;
    *n = found;
    return r;
}
#ifdef OLD
static nvmlReturn_t old_processes(nvmlDevice_t d, const char *name, u32 *n, nvmlProcessInfo_v1_t *list) {
    nvmlProcessInfo_t now[64];
    u32 found = *n < 64 ? *n : 64;
    nvmlReturn_t r = processes(d, name, &found, now);
    for (u32 i = 0; r == OK && i < found; i++) {
        list[i].pid = now[i].pid;
        list[i].usedGpuMemory = now[i].usedGpuMemory;
    }
    *n = found;
    return r;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t d, u32 *n, nvmlProcessInfo_v1_t *l) { ENTER("nvmlDeviceGetComputeRunningProcesses"); return old_processes(d, "proc.compute", n, l); }
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t d, u32 *n, nvmlProcessInfo_v1_t *l) { ENTER("nvmlDeviceGetGraphicsRunningProcesses"); return old_processes(d, "proc.graphics", n, l); }
#else
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, u32 *n, nvmlProcessInfo_t *l) { ENTER("nvmlDeviceGetComputeRunningProcesses_v3"); return processes(d, "proc.compute", n, l); }
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t d, u32 *n, nvmlProcessInfo_t *l) { ENTER("nvmlDeviceGetGraphicsRunningProcesses_v3"); return processes(d, "proc.graphics", n, l); }
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t d, u32 *n, nvmlProcessInfo_t *l) { ENTER("nvmlDeviceGetMPSComputeRunningProcesses_v3"); return processes(d, "proc.mps", n, l); }
nvmlReturn_t nvmlDeviceGetRemappedRows_v2(nvmlDevice_t d, nvmlRemappedRowsInfo_v2_t *v) {
    ENTER("nvmlDeviceGetRemappedRows_v2");
    nvmlReturn_t r = nvmlDeviceGetRemappedRows(d, &v->corrActiveRemaps, &v->uncActiveRemaps, &v->bPending, &v->bFailureOccurred);
    v->corrInactiveRemaps = (u32)part(d, "remap.cor.inactive", 0);
    v->uncInactiveRemaps = (u32)part(d, "remap.unc.inactive", 0);
    return r;
}
#endif

/* Events: gpu.N.xid=79 sends one. */

static u64 wanted;
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *s) { s->handle = (void *)(uintptr_t)1; return OK; }
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t s) { return s.handle ? OK : INVALID; }
NUM(u64, nvmlDeviceGetSupportedEventTypes, "events")
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t d, u64 types, nvmlEventSet_t s) { ENTER("nvmlDeviceRegisterEvents"); wanted |= types; return s.handle ? OK : INVALID; }
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t s, nvmlEventData_t *e, u32 ms) {
    (void)s;
    u32 waited = 0;
    do {
    memset(e, 0, sizeof *e);
    for (u32 i = 0; i < global("gpus", 0) && i < sizeof sent; i++) {
        e->device.handle = (void *)(uintptr_t)(i + 1);
        if (wanted & 8 && !sent[i] && number(e->device, "xid", &e->eventData) == OK) {
            sent[i] = 1;
            e->eventType = 8;
            e->gpuInstanceId = e->computeInstanceId = 0xffffffff;
            return OK;
        }
    }
    memset(e, 0, sizeof *e);
    u32 nap = ms - waited < NAP ? ms - waited : NAP;
    usleep(nap * 1000);
    waited += nap;
    } while (waited < ms);
    return TIMED_OUT;
}
