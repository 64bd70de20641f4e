// Package web is the page and the JSON API of the node daemon. It shows what a [Backend]
// says and decides nothing: answers come from memory or from the store, never from a
// driver, so that a page stays quick while a GPU hangs.
//
// Everything is embedded and nothing is asked of another host. The page is HTML made
// here and readable without a script; the script adds what is live. Reading is all that
// anyone can do unless [Config.Actor] is set.
package web
