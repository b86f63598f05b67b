package core

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-db/rondo/rra"
)

// Equal definitions of several stores, and of copies that others send, are one. One that nobody
// uses any more is forgotten.
func TestEqualDefinitionsAreOne(t *testing.T) {
	code := AppendDefinition(nil, &rra.Definition{
		Step:     7919, // no other test has it
		Sources:  []rra.DataSource{{Name: "one", Kind: rra.Gauge, Heartbeat: 9000, Min: math.NaN(), Max: math.NaN()}},
		Archives: []rra.Archive{{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 10}},
	})
	parsed := func() *rra.Definition {
		d, err := ParseDefinition(code)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := parsed()
	m, err := compileCode(code)
	if err != nil {
		t.Fatal(err)
	}
	if m.Definition() != d || parsed() != d {
		t.Error("equal definitions are several")
	}
	runtime.KeepAlive(m)
	known := func() bool {
		inUse.mu.Lock()
		defer inUse.mu.Unlock()
		_, ok := inUse.byCode[string(code)]
		return ok
	}
	for end := time.Now().Add(time.Minute); known(); time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(end) {
			t.Fatal("a definition that nobody uses is remembered")
		}
	}
}
