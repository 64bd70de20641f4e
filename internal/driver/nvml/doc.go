// Package nvml calls NVIDIA's management library without cgo: typed bindings of the
// functions whose values docs/readings.md names, and of nothing else.
//
// Three answers. A method returns a value, or an *[Error]. [Error.Absent] tells that
// there is no such value here (the product, the mode or this driver's version has none,
// or the caller may not see it); every other error means that the value should be there
// and could not be read. Nobody may take either for a zero.
//
// Versions. One binary meets drivers from R390 to tomorrow's. A function is looked up by
// name when it is first called. Where NVIDIA replaced a function, the method names the
// current one first and falls back to its predecessor; a struct that carries a version
// starts with size|version<<24, as the C macro NVML_STRUCT_VERSION has it. Sizes, offsets
// and constants are compared with NVIDIA's header by the module in e2e/nvmlabi.
//
// Hanging. Each call can sleep in the kernel for ever: [NVML.Before] hears the name of
// every function just before it is called, so that a parent process can name the call
// that never returned (see internal/child).
//
// An NVML is used by one goroutine at a time.
package nvml
