package enginetest_test

import (
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
)

// A recorder is a test whose errors are looked at.
type recorder struct {
	testing.TB
	cleanups []func()
	errors   int
}

func (r *recorder) Cleanup(f func())      { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(string, ...any) { r.errors++ }

func (r *recorder) end() {
	for _, f := range r.cleanups {
		f()
	}
}

func TestOpenClosesAndMayBeClosedBefore(t *testing.T) {
	dir := t.TempDir()
	for _, early := range []bool{false, true} {
		r := &recorder{TB: t}
		s := enginetest.OpenDir(r, dir, core.Options{})
		if early {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		r.end()
		if r.errors > 0 {
			t.Errorf("closed early %v: %d errors", early, r.errors)
		}
	}
	enginetest.Check(t, enginetest.Open(t))
}
