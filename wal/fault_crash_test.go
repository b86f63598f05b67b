package wal_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// faultRun is one run of the script of TestEveryCallFails on a disk whose n-th call of a kind
// fails.
type faultRun struct {
	*life
	forever bool
	passed  bool // the fault is over
	met     bool // somebody has seen it
}

// clear says whether err is a clear error of the fault. Nothing may fail before the fault or once
// it is over.
func (r *faultRun) clear(what string, err error) {
	r.Helper()
	if err == nil {
		return
	}
	r.met = true
	if r.passed || !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "input/output error") {
		r.Fatalf("%s: got %v; the fault is over: %t", what, err, r.passed)
	}
}

// pass ends the fault.
func (r *faultRun) pass() {
	r.passed = true
	r.disk.Fail("", 0, false, nil)
}

// open opens the log; while the fault lasts it may be refused, and then works without more ado. All
// that was acknowledged is there.
func (r *faultRun) open() {
	r.Helper()
	r.o.FS = r.disk
	for r.log = nil; r.log == nil; {
		log, err := wal.Open(crashDir, r.o)
		if err == nil {
			r.log = log
			break
		}
		r.clear("open", err)
		if r.forever {
			r.pass()
		}
	}
	if r.log.Last() < r.durable {
		r.Fatalf("log ends at %d, durable was %d", r.log.Last(), r.durable)
	}
	for err := r.compare(r.log.First()); err != nil; err = r.compare(r.log.First()) {
		r.clear("read", err)
		if r.forever {
			r.pass()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked, r.durable, r.failed = r.log.Last(), r.log.Last(), 0
	for p := range r.given { // reported as failed, or never reported
		if p > r.acked {
			delete(r.given, p)
		}
	}
}

// steps appends, truncates and begins several segments.
func (r *faultRun) steps() {
	r.Helper()
	for i := range 10 {
		for range 3 {
			if err := r.enqueue(); err != nil {
				r.clear("enqueue", err)
			}
		}
		p, err := r.log.Barrier(r.Context())
		if r.clear("barrier", err); err == nil {
			r.durable = max(r.durable, p)
		}
		if i%4 == 3 {
			r.clear("truncate", r.log.Truncate(r.log.Last()-min(5, r.log.Last())))
		}
	}
	r.readBack()
}

// readBack reads everything; while reading fails it reports an error.
func (r *faultRun) readBack() {
	r.Helper()
	r.clear("read", r.compare(r.log.First()))
}

// close closes the log, after which all of it is durable.
func (r *faultRun) close() {
	r.Helper()
	last := r.log.Last()
	err := r.log.Close()
	r.clear("close", err)
	if err == nil {
		r.durable = max(r.durable, last)
	}
	r.log = nil
}

func (r *faultRun) script() {
	r.open()
	r.steps()
	r.close()
	r.open()
	r.steps()
	r.crash(true)
	r.open()
	r.steps()
}

// Every call that the log makes fails in turn, once and for good. Each time there is a clear error
// or none, nothing acknowledged is lost, the log works on without a restart when the fault has
// passed, and all is there after loss of power.
func TestEveryCallFails(t *testing.T) {
	first := seedtest.One(t) * 1e6
	for _, m := range []struct {
		name string
		o    wal.Options
	}{
		{"always", wal.Options{SegmentBytes: 1000}},
		{"none", wal.Options{SegmentBytes: 1000, Sync: wal.SyncNone}},
		{"plain", wal.Options{SegmentBytes: 1000, DisablePreallocate: true}},
	} {
		t.Run(m.name, func(t *testing.T) {
			whole := &faultRun{life: newLife(t, 1, m.o), passed: true}
			whole.script()
			calls := whole.disk.Calls()
			whole.close()
			total := 0
			var line strings.Builder
			for _, kind := range waltest.Kinds {
				told := 0
				for n := 1; n <= calls[kind]; n++ {
					for _, forever := range []bool{false, true} {
						for s := range uint64(rounds()) {
							r := everyCall(t, m.o, first+s+1, kind, n, forever)
							total++
							if r.met {
								told++
							}
						}
					}
				}
				fmt.Fprintf(&line, " %s %d (%d told)", kind, calls[kind], told)
			}
			t.Logf("%d programs, of calls failed in turn, once and for good:%s", total, line.String())
		})
	}
}

func everyCall(t *testing.T, o wal.Options, seed uint64, kind string, n int, forever bool) *faultRun {
	r := &faultRun{forever: forever}
	t.Run(fmt.Sprintf("%s-%d-%t-%d", kind, n, forever, seed), func(t *testing.T) {
		r.life = newLife(t, seed, o)
		r.disk.Fail(kind, n, forever, syscall.EIO)
		r.script()
		r.pass()
		// The first one may still get the error of what failed before.
		r.passed = false
		_, err := r.log.Barrier(t.Context())
		r.clear("barrier", err)
		r.passed = true
		for range 3 {
			if err := r.enqueue(); err != nil {
				t.Fatalf("enqueue when the fault is over: %v", err)
			}
		}
		p, err := r.log.Barrier(t.Context())
		if err != nil {
			t.Fatalf("barrier when the fault is over: %v", err)
		}
		r.durable = max(r.durable, p)
		r.readBack()
		r.crash(seed%2 == 0)
		r.start()
		r.close()
		r.open() // after a clean end too
		r.readBack()
		r.close()
	})
	return r
}
