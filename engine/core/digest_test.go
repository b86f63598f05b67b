package core_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// plainProgram makes series without seasonal archives and readings of them, in order of each
// series.
func plainProgram(t testing.TB, r *rand.Rand) (series []*modelSeries, rds []*reading) {
	t.Helper()
	p := &program{t: t, r: r}
	for range 1 + r.IntN(4) {
		p.defs = append(p.defs, randomDefinition(t, r, true))
	}
	for i := range 3 + r.IntN(20) {
		p.series = append(p.series, newModelSeries(pick(r, p.defs...), fmt.Sprintf("s%d", i), rra.Seconds(programStart)))
	}
	collect := func(out []*reading) {
		for _, rd := range out {
			_ = rd.x.append(rd) // so that times go on
			rds = append(rds, rd)
		}
	}
	for len(rds) < 1500 {
		switch r.IntN(10) {
		case 0:
			p.toggle()
		case 1:
			p.march(r.IntN(40), collect)
		default:
			collect(p.batch())
		}
		for _, x := range p.series {
			x.active = x.active || r.IntN(20) == 0
		}
	}
	return p.series, rds
}

// give appends rds in one batch; what the series refuse is no matter.
func give(t testing.TB, s *core.Store, refs map[*modelSeries]core.Ref, rds []*reading) {
	t.Helper()
	var b core.Batch
	for _, rd := range rds {
		b.AddText(refs[rd.x], rd.at, rd.values, rd.texts)
	}
	var rej *core.RejectedError
	if err := s.Append(context.Background(), &b); err != nil && !errors.As(err, &rej) {
		t.Fatal(err)
	}
}

// TestDigestDoesNotTellHowItCame feeds the same samples in one batch, in random batches, and with
// crashes, checkpoints and replays between any two: the stores are the same, byte for byte.
func TestDigestDoesNotTellHowItCame(t *testing.T) {
	ctx := context.Background()
	seed := seedtest.One(t)
	for i := range seedtest.Programs(2, 20) {
		r := rand.New(rand.NewPCG(seed, 1000+uint64(i)))
		series, rds := plainProgram(t, r)
		o := core.Options{NoBackground: true, Sync: wal.SyncNone}
		start := func() (string, *core.Store, map[*modelSeries]core.Ref) {
			t.Helper()
			dir := t.TempDir()
			s, err := core.Open(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			refs := make(map[*modelSeries]core.Ref)
			for _, x := range series {
				refs[x] = mustCreate(t, s, x.path, x.m.Definition())
			}
			return dir, s, refs
		}

		_, once, refs := start()
		give(t, once, refs, rds)
		want := mustDigest(t, once)

		_, many, refs := start()
		for rest := rds; len(rest) > 0; {
			n := min(1+r.IntN(60), len(rest))
			give(t, many, refs, rest[:n])
			rest = rest[n:]
		}
		sameDigest(t, fmt.Sprintf("program %d, many batches", i), mustDigest(t, many), want)

		dir, hurt, refs := start()
		crashes := 0
		for rest := rds; len(rest) > 0; {
			n := min(1+r.IntN(200), len(rest))
			give(t, hurt, refs, rest[:n])
			rest = rest[n:]
			copied := ""
			hurt.SetHook(nil)
			switch r.IntN(5) {
			case 0:
				if err := hurt.Checkpoint(ctx); err != nil {
					t.Fatal(err)
				}
			case 1:
				copied = copyStore(t, dir)
			case 2: // in the midst of a checkpoint
				at := int64(1 + r.IntN(8))
				var passed atomic.Int64 // shards pass points too
				hurt.SetHook(func(string) {
					if passed.Add(1) == at {
						copied = copyStore(t, dir)
					}
				})
				if err := hurt.Checkpoint(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if copied == "" {
				continue
			}
			crashes++
			if err := hurt.Abandon(); err != nil {
				t.Fatal(err)
			}
			var err error
			if hurt, err = core.Open(copied, o); err != nil {
				t.Fatal(err)
			}
			dir = copied
		}
		sameDigest(t, fmt.Sprintf("program %d, %d crashes", i, crashes), mustDigest(t, hurt), want)
		for _, s := range []*core.Store{once, many, hurt} {
			if ps, err := s.Check(ctx); err != nil || len(ps) > 0 {
				t.Errorf("program %d: check: %v %v", i, ps, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A digest that is always the same would prove nothing.
func TestDigestTellsWhatDiffers(t *testing.T) {
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	digest := func(values ...float64) uint64 {
		s, err := core.Open(t.TempDir(), core.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		ref := mustCreate(t, s, "a", def)
		var b core.Batch
		for i, v := range values {
			b.Add(ref, rra.Seconds(programStart+10*int64(i+1)), rra.Float(v))
		}
		mustAppend(t, s, &b)
		return mustDigest(t, s)["1/0"]
	}
	all := []uint64{digest(1, 2, 3, 4), digest(1, 2, 3, 5), digest(1, 9, 3, 4), digest(1, 2, 3), digest()}
	if d := slices.Compact(slices.Sorted(slices.Values(all))); len(d) != len(all) || digest(1, 2, 3, 4) != all[0] {
		t.Errorf("digests %x of different stores", all)
	}
}
