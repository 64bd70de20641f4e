package cuda

import (
	"fmt"
	"unsafe"

	"github.com/gpumedic/gpumedic/internal/driver"
)

// Ptr is an address in GPU memory.
type Ptr uint64

// handle is a pointer that only the driver follows.
type handle uintptr

// api holds the functions of the library, by their C signatures.
type api struct {
	init             func(flags uint32) Result
	driverVersion    func(*int32) Result
	getErrorName     func(Result, **byte) Result
	getErrorString   func(Result, **byte) Result
	deviceCount      func(*int32) Result
	deviceGet        func(*int32, int32) Result
	deviceByPCI      func(*int32, *byte) Result
	devicePCI        func(*byte, int32, int32) Result
	deviceUUID       func(*[16]byte, int32) Result
	deviceName       func(*byte, int32, int32) Result
	deviceTotalMem   func(*uint64, int32) Result
	deviceAttribute  func(*int32, int32, int32) Result
	canAccessPeer    func(*int32, int32, int32) Result
	enablePeer       func(handle, uint32) Result
	primaryRetain    func(*handle, int32) Result
	primaryRelease   func(int32) Result
	ctxSetCurrent    func(handle) Result
	ctxSynchronize   func() Result
	memGetInfo       func(free, total *uint64) Result
	memAlloc         func(*Ptr, uint64) Result
	memFree          func(Ptr) Result
	memHostAlloc     func(*unsafe.Pointer, uint64, uint32) Result
	memFreeHost      func(unsafe.Pointer) Result
	copyHtoD         func(Ptr, unsafe.Pointer, uint64) Result
	copyDtoH         func(unsafe.Pointer, Ptr, uint64) Result
	copyHtoDAsync    func(Ptr, unsafe.Pointer, uint64, handle) Result
	copyDtoHAsync    func(unsafe.Pointer, Ptr, uint64, handle) Result
	copyDtoDAsync    func(Ptr, Ptr, uint64, handle) Result
	copyPeerAsync    func(dst Ptr, dstCtx handle, src Ptr, srcCtx handle, n uint64, stream handle) Result
	memsetD32Async   func(Ptr, uint32, uint64, handle) Result
	moduleLoadDataEx func(mod *handle, image *byte, n uint32, options *uint32, values *uintptr) Result
	moduleGetFunc    func(*handle, handle, *byte) Result
	funcSetAttribute func(handle, int32, int32) Result
	launchKernel     func(f handle, gx, gy, gz, bx, by, bz, shared uint32, stream handle, params, extra unsafe.Pointer) Result
	streamCreate     func(*handle, uint32) Result
	streamSync       func(handle) Result
	streamDestroy    func(handle) Result
	eventCreate      func(*handle, uint32) Result
	eventRecord      func(handle, handle) Result
	eventSync        func(handle) Result
	eventElapsed     func(*float32, handle, handle) Result
}

// bind fills the table. All of these functions are in every driver that runs on a
// supported GPU, so that a missing one is an error.
func (a *api) bind(l *driver.Library) error {
	for _, f := range []struct {
		fn     any
		symbol string
	}{
		{&a.init, "cuInit"},
		{&a.driverVersion, "cuDriverGetVersion"},
		{&a.getErrorName, "cuGetErrorName"},
		{&a.getErrorString, "cuGetErrorString"},
		{&a.deviceCount, "cuDeviceGetCount"},
		{&a.deviceGet, "cuDeviceGet"},
		{&a.deviceByPCI, "cuDeviceGetByPCIBusId"},
		{&a.devicePCI, "cuDeviceGetPCIBusId"},
		{&a.deviceUUID, "cuDeviceGetUuid"},
		{&a.deviceName, "cuDeviceGetName"},
		{&a.deviceTotalMem, "cuDeviceTotalMem_v2"},
		{&a.deviceAttribute, "cuDeviceGetAttribute"},
		{&a.canAccessPeer, "cuDeviceCanAccessPeer"},
		{&a.enablePeer, "cuCtxEnablePeerAccess"},
		{&a.primaryRetain, "cuDevicePrimaryCtxRetain"},
		{&a.primaryRelease, "cuDevicePrimaryCtxRelease_v2"},
		{&a.ctxSetCurrent, "cuCtxSetCurrent"},
		{&a.ctxSynchronize, "cuCtxSynchronize"},
		{&a.memGetInfo, "cuMemGetInfo_v2"},
		{&a.memAlloc, "cuMemAlloc_v2"},
		{&a.memFree, "cuMemFree_v2"},
		{&a.memHostAlloc, "cuMemHostAlloc"},
		{&a.memFreeHost, "cuMemFreeHost"},
		{&a.copyHtoD, "cuMemcpyHtoD_v2"},
		{&a.copyDtoH, "cuMemcpyDtoH_v2"},
		{&a.copyHtoDAsync, "cuMemcpyHtoDAsync_v2"},
		{&a.copyDtoHAsync, "cuMemcpyDtoHAsync_v2"},
		{&a.copyDtoDAsync, "cuMemcpyDtoDAsync_v2"},
		{&a.copyPeerAsync, "cuMemcpyPeerAsync"},
		{&a.memsetD32Async, "cuMemsetD32Async"},
		{&a.moduleLoadDataEx, "cuModuleLoadDataEx"},
		{&a.moduleGetFunc, "cuModuleGetFunction"},
		{&a.funcSetAttribute, "cuFuncSetAttribute"},
		{&a.launchKernel, "cuLaunchKernel"},
		{&a.streamCreate, "cuStreamCreate"},
		{&a.streamSync, "cuStreamSynchronize"},
		{&a.streamDestroy, "cuStreamDestroy_v2"},
		{&a.eventCreate, "cuEventCreate"},
		{&a.eventRecord, "cuEventRecord"},
		{&a.eventSync, "cuEventSynchronize"},
		{&a.eventElapsed, "cuEventElapsedTime"},
	} {
		if err := l.Bind(f.fn, f.symbol); err != nil {
			return fmt.Errorf("bind %s: %w", l.Name, err)
		}
	}
	return nil
}

// goString copies a C string of the driver's, at most 4 KiB of it.
func goString(p *byte) string {
	b := unsafe.Slice(p, 4096)
	for i := range b {
		if b[i] == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// cString is s as the driver reads it.
func cString(s string) *byte {
	b := append([]byte(s), 0)
	return &b[0]
}
