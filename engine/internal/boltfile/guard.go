package boltfile

import (
	"fmt"
	"runtime/debug"

	"github.com/rondo-db/rondo/engine/internal/damage"
)

// Guard runs fn, which reads bucket (nil: the file as a whole). It returns two failures as a
// *damage.Error: a panic of bbolt on a damaged page, and a fault on a page that the file or the
// disk lost. The log gets the stack, because such a panic may also be a bug.
func (f *File) Guard(bucket []byte, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			e := &damage.Error{Bucket: string(bucket), Err: panicError{p}}
			f.report(e)
			err = e
		}
	}()
	return fn()
}

// loggedMost bounds how many different panics are logged. A caller may ask for damaged pages often.
const loggedMost = 100

// report logs a panic with its stack, each text once.
func (f *File) report(e *damage.Error) {
	f.loggedMu.Lock()
	defer f.loggedMu.Unlock()
	text := e.Error()
	if f.logged[text] || len(f.logged) >= loggedMost {
		return
	}
	if f.logged == nil {
		f.logged = make(map[string]bool)
	}
	f.logged[text] = true
	f.options.Logger.Error("the database cannot be read; this is logged once", "file", f.name, "err", e, "stack", string(debug.Stack()))
}

// A panicError is what was recovered from a panic.
type panicError struct{ value any }

// Error distinguishes a fault of a memory access from other panics.
func (e panicError) Error() string {
	if f, ok := e.value.(interface{ Addr() uintptr }); ok {
		return fmt.Sprintf("the file is shorter than its pages, or the disk cannot read it (%v at %#x)", e.value, f.Addr())
	}
	return fmt.Sprint(e.value)
}
