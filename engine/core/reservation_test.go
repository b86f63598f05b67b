package core_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// The size of states was not looked at before they were logged: 64 CREATEs side by side took many
// times the budget, and nobody's samples were taken. Now they wait for each other or are refused,
// and leave room for the others' samples.
func TestLargeStatesKeepWithinTheBudget(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	const budget = 24 << 20
	s := enginetest.OpenDir(t, dir, core.Options{Memory: budget})
	other := mustCreate(t, s, "other", definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"))
	large := func(i int) *rra.Definition { // 1 MiB each, all of another shape
		return definition(t, "DS:a:GAUGE:20:U:U", fmt.Sprintf("RRA:HWPREDICT:100000:0.1:0.1:%d", 65000+i))
	}
	var wg sync.WaitGroup
	made := make([]core.Ref, 64)
	for i := range made {
		wg.Go(func() {
			ref, err := s.Create(ctx, core.Spec{Path: fmt.Sprint("large", i), Definition: large(i), Start: rra.Seconds(programStart)})
			if err != nil && !errors.Is(err, core.ErrMemory) {
				t.Errorf("create: %v", err)
			}
			made[i] = ref
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for at := int64(1); ; at++ {
		var b core.Batch
		b.Add(other, rra.Seconds(programStart+10*at), rra.Float(float64(at)))
		mustAppend(t, s, &b)
		if n := s.Stats().MemoryBytes; n > budget {
			t.Fatalf("%d bytes of memory, the budget is %d", n, budget)
		}
		select {
		case <-done:
		default:
			continue
		}
		break
	}
	n := 0
	for i, ref := range made {
		if ref == 0 {
			continue
		}
		n++
		if at, err := s.Last(ref); err != nil || at != rra.Seconds(programStart) {
			t.Errorf("large%d: last update %d, %v", i, at, err)
		}
	}
	if n < 8 {
		t.Errorf("%d of 64 were made", n)
	}
}

// What can never fit is refused with its size, at once, however it comes.
func TestWhatIsLargerThanTheBudgetIsRefused(t *testing.T) {
	ctx := t.Context()
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{Memory: 2 << 20})
	refused := func(what string, err error, want string) {
		t.Helper()
		if !errors.Is(err, core.ErrMemory) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	d := definition(t, "DS:a:GAUGE:20:U:U", "RRA:HWPREDICT:100000:0.1:0.1:100000")
	_, err := s.Create(ctx, core.Spec{Path: "state", Definition: d})
	refused("create", err, "bytes are needed, and of the 1572864 there are for this")
	m, err := rra.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	small := definition(t, "DS:a:GAUGE:20:U:U", "RRA:LAST:0.5:1:10")
	sm, err := rra.Compile(small)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Import(ctx, []core.Copy{
		{Path: "small", Definition: small, State: sm.NewState(rra.Seconds(programStart))},
		{Path: "state", Definition: d, State: m.NewState(rra.Seconds(programStart))},
		{Path: "other", Definition: small, State: sm.NewState(rra.Seconds(programStart))},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	refused("import", out[1].Err, "bytes are needed")
	for _, i := range []int{0, 2} {
		if at, err := s.Last(out[i].Ref); out[i].Err != nil || err != nil || at != rra.Seconds(programStart) {
			t.Errorf("a small one beside it: %v, %v", out[i].Err, err)
		}
	}

	// A series that is easily made may be too large to be copied.
	rows := mustCreate(t, s, "rows", definition(t, "DS:a:GAUGE:20:U:U", "RRA:LAST:0.5:1:1000000"))
	_, err = s.Export(ctx, rows)
	refused("export", err, "more than 8000000 bytes are needed")
	_, err = s.Alter(ctx, "rows", func(c core.Copy) (core.Copy, error) { return c, nil })
	refused("alter", err, "more than 8000000 bytes are needed")
	if at, err := s.Last(rows); err != nil || at != rra.Seconds(programStart) {
		t.Errorf("afterwards: %d, %v", at, err)
	}

	// Definitions stay as long as the store is open.
	var made int
	for i := range 10_000 {
		_, err = s.Create(ctx, core.Spec{Path: fmt.Sprint("def", i), Definition: definition(t, fmt.Sprintf("DS:a:GAUGE:%d:U:U", i+1), "RRA:LAST:0.5:1:10")})
		if err != nil {
			break
		}
		made++
	}
	refused("definitions", err, "half of the budget is 1048576")
	if made < 100 {
		t.Errorf("%d definitions were taken", made)
	}
}
