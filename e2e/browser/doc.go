//go:build e2e

// Package browser drives the page with a real browser, headless Chromium, through its
// own protocol. It is a module of its own: the product needs none of this.
package browser
