package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// over returns err as another node gets it.
func over(t *testing.T, err error) error {
	t.Helper()
	w := coder{writes: true}
	w.error(&err)
	r := coder{Reader: record.Reader{Rest: w.out}}
	var got error
	if r.error(&got); r.Err != nil || len(r.Rest) > 0 {
		t.Fatal(r.Err, r.Rest)
	}
	return got
}

// TestEverySentinelKeepsItsIdentity: an exported error of the store, the log or the numbers that
// has no name here would be an unknown error on the other node.
func TestEverySentinelKeepsItsIdentity(t *testing.T) {
	same := map[string]string{ // other names of the same error
		"core.ErrFull": "wal.ErrFull", "core.ErrRetry": "wal.ErrRetry", "core.ErrTooLarge": "wal.ErrTooLarge",
		"core.ErrLogClosed": "wal.ErrClosed", "core.ErrGone": "wal.ErrGone", "core.ErrSealed": "wal.ErrSealed",
	}
	names := make(map[string]bool)
	for _, s := range sentinels {
		names[s.name] = true
		got := over(t, fmt.Errorf("above: %w", s.err))
		if !errors.Is(got, s.err) || got.Error() != "above: "+s.err.Error() {
			t.Errorf("%s: the other node gets %v", s.name, got)
		}
		for _, other := range sentinels {
			if was := errors.Is(s.err, other.err); errors.Is(got, other.err) != was {
				t.Errorf("%s: the other node takes it for %s: %v, here %v", s.name, other.name, !was, was)
			}
		}
	}
	found := 0
	for _, dir := range []string{"engine/core", "wal", "rra"} {
		for _, name := range enginetest.Sentinels(t, filepath.Join("../..", dir)) {
			found++
			if !names[name] && !names[same[name]] {
				t.Errorf("%s has no name in the protocol: add it to sentinels", name)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d errors found: do they stand elsewhere now?", found)
	}
}

func TestErrorsKeepTheirDetails(t *testing.T) {
	late := &rra.TimeError{At: 5, Last: 7}
	value := &rra.ValueError{DS: 2, Name: "in", Err: errors.New("not a number")}
	damage := &core.DamageError{Bucket: "rows", Key: []byte{}, Place: "slot 3", Series: "a", Step: 10, From: 20, To: 40, Err: fs.ErrInvalid}
	got := over(t, fmt.Errorf("sample: %w", late))
	if e, ok := errors.AsType[*rra.TimeError](got); !ok || *e != *late {
		t.Errorf("a late sample becomes %#v", got)
	}
	got = over(t, fmt.Errorf("sample: %w", value))
	if e, ok := errors.AsType[*rra.ValueError](got); !ok || e.DS != 2 || e.Name != "in" || e.Error() != value.Error() {
		t.Errorf("a bad value becomes %#v", got)
	}
	got = over(t, fmt.Errorf("read: %w", damage))
	e, ok := errors.AsType[*core.DamageError](got)
	if !ok || !errors.Is(got, core.ErrDamaged) || e.Error() != damage.Error() || e.Key == nil || e.Series != "a" || e.To != 40 {
		t.Errorf("damage becomes %#v", got)
	}
	if nilKey := over(t, &core.DamageError{Err: io.EOF}); func() bool { e, _ := errors.AsType[*core.DamageError](nilKey); return e.Key != nil }() {
		t.Error("a bucket as a whole becomes a key")
	}
	rejected := &core.RejectedError{Accepted: 3, Late: 1, Other: 1, First: []core.Rejection{{Index: 1, Err: fmt.Errorf("a: %w", late)}, {Index: 4, Err: core.ErrNotFound}}}
	got = over(t, fmt.Errorf("append: %w", rejected))
	r, ok := errors.AsType[*core.RejectedError](got)
	if !ok || r.Error() != rejected.Error() || r.Accepted != 3 || len(r.First) != 2 || r.First[1].Index != 4 || !errors.Is(r.First[1].Err, core.ErrNotFound) {
		t.Errorf("refused samples become %#v", got)
	}
	if !errors.As(r.First[0].Err, new(*rra.TimeError)) {
		t.Errorf("the reason of the first refused sample becomes %#v", r.First[0].Err)
	}
	if long := over(t, errors.New(strings.Repeat("x", 1<<20))); len(long.Error()) > maxErrorText+8 {
		t.Errorf("an error of 1 MiB is sent as %d bytes", len(long.Error()))
	}
	if over(t, context.Canceled) == nil || over(t, nil) != nil {
		t.Error("nil is not kept apart from an error")
	}
}

// shown is what a batch holds, in words.
func shown(b *core.Batch) (out []string) {
	for s := range b.All() {
		var text strings.Builder
		text.WriteString(fmt.Sprintf("%d@%d %v", s.Ref, s.At, s.Follows))
		for _, v := range s.Values {
			if v.Tag == rra.TagText || v.Tag == rra.TagInvalid {
				text.WriteString(fmt.Sprintf(" %d:%q", v.Tag, s.Texts[v.Bits]))
			} else {
				text.WriteString(fmt.Sprintf(" %d:%x", v.Tag, v.Bits))
			}
		}
		out = append(out, text.String())
	}
	return out
}

func everything() *core.Batch {
	b := &core.Batch{SkipPast: true, Stopped: true, Rejections: 9}
	b.Add(5, 100, rra.Int(-1), rra.Uint(1<<63), rra.Float(1.5), rra.Unknown)
	b.Add(6, 100, rra.Int(1))
	b.AddText(6, 99, []rra.Value{rra.Text(1), {Tag: rra.TagInvalid}}, []string{"a\xff", ""})
	b.Follow()
	b.Add(1<<63|3, -1<<50)
	b.Add(2, 1<<50, rra.Value{Tag: rra.TagDecimal, Bits: 12345}, rra.Value{Tag: rra.TagExponent, Bits: 1})
	return b
}

func TestBatchIsPackedWhole(t *testing.T) {
	b := everything()
	packed := appendBatch(nil, b, core.Number{Session: 1<<63 + 5, N: 300})
	var got core.Batch
	var r batchReader
	if n, err := r.read(packed, &got); err != nil || n != (core.Number{Session: 1<<63 + 5, N: 300}) {
		t.Fatal(n, err)
	}
	if a, w := fmt.Sprint(shown(&got)), fmt.Sprint(shown(b)); a != w || !got.SkipPast || !got.Stopped || got.Rejections != 9 {
		t.Errorf("got %s\nwant %s", a, w)
	}
	for i := range packed { // cut anywhere
		got.Reset()
		if _, err := r.read(packed[:i], &got); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("cut at %d of %d: %v", i, len(packed), err)
		}
	}
	var plain core.Batch
	for i := range 1000 {
		plain.Add(core.Ref(i), 100, rra.Float(1))
	}
	packed = appendBatch(nil, &plain, core.Number{})
	if n := len(packed); n > 10*1000+16 {
		t.Errorf("1000 samples of one time take %d bytes", n)
	}
	allocs := testing.AllocsPerRun(10, func() {
		packed = appendBatch(packed[:0], &plain, core.Number{})
		got.Reset()
		if _, err := r.read(packed, &got); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 4 { // of the iteration, not of the samples
		t.Errorf("1000 samples cost %v allocations", allocs)
	}
}

func FuzzBatch(f *testing.F) {
	f.Add(appendBatch(nil, everything(), core.Number{Session: 7, N: 1}))
	f.Add([]byte{0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0})
	f.Fuzz(func(t *testing.T, packed []byte) {
		var b, again core.Batch
		var r batchReader
		n, err := r.read(packed, &b)
		if err != nil {
			return
		}
		if m, err := r.read(appendBatch(nil, &b, n), &again); err != nil || n.Session != 0 && m != n || fmt.Sprint(shown(&b)) != fmt.Sprint(shown(&again)) {
			t.Errorf("%v: %q becomes %q", err, shown(&b), shown(&again))
		}
	})
}
