// Package flight reads dumps.
package flight
