// Package serve has the command rondo serve: its flags and settings, what a reload changes, and the
// list of protocols.
package serve
