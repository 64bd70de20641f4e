package nvml

import "fmt"

// Return is nvmlReturn_t.
type Return int32

// The codes of nvmlReturn_t.
const (
	Success                Return = 0
	Uninitialized          Return = 1
	InvalidArgument        Return = 2
	NotSupported           Return = 3
	NoPermission           Return = 4
	AlreadyInitialized     Return = 5
	NotFoundCode           Return = 6
	InsufficientSize       Return = 7
	InsufficientPower      Return = 8
	DriverNotLoaded        Return = 9
	Timeout                Return = 10
	IRQIssue               Return = 11
	LibraryNotFound        Return = 12
	FunctionNotFound       Return = 13
	CorruptedInforom       Return = 14
	GPUIsLost              Return = 15
	ResetRequired          Return = 16
	OperatingSystem        Return = 17
	LibRMVersionMismatch   Return = 18
	InUse                  Return = 19
	Memory                 Return = 20
	NoData                 Return = 21
	VGPUECCNotSupported    Return = 22
	InsufficientResources  Return = 23
	FreqNotSupported       Return = 24
	ArgVersionMismatch     Return = 25
	Deprecated             Return = 26
	NotReady               Return = 27
	GPUNotFound            Return = 28
	InvalidState           Return = 29
	ResetTypeNotSupported  Return = 30
	Unknown                Return = 999
	notAvailable           uint64 = 1<<64 - 1 // NVML_VALUE_NOT_AVAILABLE in 64 bits
	notAvailableInstance32 uint32 = 1<<32 - 1 // the same for instance ids
)

var returnNames = map[Return]string{
	Success: "NVML_SUCCESS", Uninitialized: "NVML_ERROR_UNINITIALIZED", InvalidArgument: "NVML_ERROR_INVALID_ARGUMENT",
	NotSupported: "NVML_ERROR_NOT_SUPPORTED", NoPermission: "NVML_ERROR_NO_PERMISSION", AlreadyInitialized: "NVML_ERROR_ALREADY_INITIALIZED",
	NotFoundCode: "NVML_ERROR_NOT_FOUND", InsufficientSize: "NVML_ERROR_INSUFFICIENT_SIZE", InsufficientPower: "NVML_ERROR_INSUFFICIENT_POWER",
	DriverNotLoaded: "NVML_ERROR_DRIVER_NOT_LOADED", Timeout: "NVML_ERROR_TIMEOUT", IRQIssue: "NVML_ERROR_IRQ_ISSUE",
	LibraryNotFound: "NVML_ERROR_LIBRARY_NOT_FOUND", FunctionNotFound: "NVML_ERROR_FUNCTION_NOT_FOUND", CorruptedInforom: "NVML_ERROR_CORRUPTED_INFOROM",
	GPUIsLost: "NVML_ERROR_GPU_IS_LOST", ResetRequired: "NVML_ERROR_RESET_REQUIRED", OperatingSystem: "NVML_ERROR_OPERATING_SYSTEM",
	LibRMVersionMismatch: "NVML_ERROR_LIB_RM_VERSION_MISMATCH", InUse: "NVML_ERROR_IN_USE", Memory: "NVML_ERROR_MEMORY", NoData: "NVML_ERROR_NO_DATA",
	VGPUECCNotSupported: "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED", InsufficientResources: "NVML_ERROR_INSUFFICIENT_RESOURCES",
	FreqNotSupported: "NVML_ERROR_FREQ_NOT_SUPPORTED", ArgVersionMismatch: "NVML_ERROR_ARGUMENT_VERSION_MISMATCH", Deprecated: "NVML_ERROR_DEPRECATED",
	NotReady: "NVML_ERROR_NOT_READY", GPUNotFound: "NVML_ERROR_GPU_NOT_FOUND", InvalidState: "NVML_ERROR_INVALID_STATE",
	ResetTypeNotSupported: "NVML_ERROR_RESET_TYPE_NOT_SUPPORTED", Unknown: "NVML_ERROR_UNKNOWN",
}

// String is the name in NVIDIA's header.
func (r Return) String() string {
	if s, ok := returnNames[r]; ok {
		return s
	}
	return fmt.Sprintf("NVML_ERROR_%d", int32(r))
}

// An Error is a call that gave no value.
type Error struct {
	Function string
	Code     Return
	missing  bool // this library has no such function
	kind     bool // the call asked for a kind of thing that the driver may not know
}

func (e *Error) Error() string {
	switch {
	case e.missing:
		return e.Function + ": not in this driver version"
	case e.kind && e.Code == InvalidArgument:
		return e.Function + ": not known to this driver or product"
	case e.Code == NotSupported:
		return e.Function + ": not supported"
	case e.Code == NoPermission:
		return e.Function + ": no permission"
	}
	return e.Function + ": " + e.Code.String()
}

// Absent reports that there is no such value here, which says nothing bad of the GPU.
func (e *Error) Absent() bool {
	switch e.Code {
	case NotSupported, NoPermission, FunctionNotFound, ArgVersionMismatch, Deprecated, VGPUECCNotSupported:
		return true
	case InvalidArgument:
		return e.kind
	}
	return false
}

// result is the one place where codes become errors.
func result(function string, r Return) error {
	if r == Success {
		return nil
	}
	return &Error{Function: function, Code: r}
}

func ofKind(function string, r Return) error {
	if r == Success {
		return nil
	}
	return &Error{Function: function, Code: r, kind: true}
}

func missing(function string) error {
	return &Error{Function: function, Code: FunctionNotFound, missing: true}
}

// CodeOf is the code of an error of this package, Unknown of any other.
func CodeOf(err error) Return {
	if err == nil {
		return Success
	}
	if e, ok := err.(*Error); ok {
		return e.Code
	}
	return Unknown
}

// IsAbsent reports whether err says that there is no such value here.
func IsAbsent(err error) bool {
	e, ok := err.(*Error)
	return ok && e.Absent()
}
