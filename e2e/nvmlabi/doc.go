// Package nvmlabi has only tests: they compare the structs and constants of
// internal/driver/nvml, and the fake library that the tests there call, with NVIDIA's
// own nvml.h, which the module go-nvml ships. It is a module of its own so that the
// product does not depend on that one.
package nvmlabi
