package peer

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/query/partial"
	"github.com/rondo-db/rondo/rra"
)

// readers read each kind of message but questions with matchers, whose expressions have a limit of
// their own.
var readers = []func(*coder){
	readerOf(codeTarget), readerOf(codeHeading), readerOf(codeFound), readerOf(refs), readerOf(codeLabels), readerOf(codeInfo), readerOf(codeChange),
	readerOf(codeSpans), readerOf(codeRows), readerOf(codeEvaluated), readerOf(create.question), readerOf(create.answer),
	readerOf(lasts.answer), readerOf(relabel.question), readerOf(drop.question), readerOf(outcomes), readerOf(setMetadata.question), readerOf(codeNoted),
	func(k *coder) { list(k, new([]outcome), codeOutcome) },
}

func readerOf[T any](code func(*coder, *T)) func(*coder) { return func(k *coder) { code(k, new(T)) } }

// FuzzMessages: whatever a message says, reading it ends, and takes memory that fits to it.
func FuzzMessages(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range byte(len(readers)) {
		for range 8 {
			b := make([]byte, random.IntN(200))
			for j := range b {
				b[j] = byte(random.IntN(256) & random.IntN(256))
			}
			f.Add(i, b)
		}
		f.Add(i, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, i byte, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		readers[int(i)%len(readers)](&coder{Reader: record.Reader{Rest: b}})
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20+200*uint64(len(b)) {
			t.Errorf("a message of %d bytes takes %d", len(b), took)
		}
	})
}

// sentOver returns x as the other node reads it. A part of the bytes must not parse.
func sentOver[T any](t *testing.T, code func(*coder, *T), x T) (got T) {
	t.Helper()
	w := coder{writes: true}
	code(&w, &x)
	for n := range w.out {
		k := coder{Reader: record.Reader{Rest: w.out[:n]}}
		if code(&k, new(T)); k.Err == nil {
			t.Errorf("%T: the first %d of %d bytes parse", x, n, len(w.out))
		}
	}
	k := coder{Reader: record.Reader{Rest: w.out}}
	if code(&k, &got); k.Err != nil || len(k.Rest) > 0 {
		t.Errorf("%T: %v, %d bytes are left", x, k.Err, len(k.Rest))
	}
	return got
}

func same[T any](t *testing.T, code func(*coder, *T), x T) {
	t.Helper()
	if got := sentOver(t, code, x); !reflect.DeepEqual(got, x) {
		t.Errorf("%+v becomes %+v", x, got)
	}
}

// TestTypesAreSentWhole: each field of what nodes send has a value of its own.
func TestTypesAreSentWhole(t *testing.T) {
	ls := []core.Label{{Name: "a", Value: "\xff"}, {Name: "b"}}
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:LAST:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := core.NewMatcher(core.MatchNotRegexp, "c", "x|y")
	if err != nil {
		t.Fatal(err)
	}
	same(t, codeTarget, target{"m", 3, 1<<63 + 1, core.Number{Session: 1 << 63, N: 5}})
	same(t, codeHeading, heading{standing{1, 2, 3, 4}, true, nil})
	same(t, codeFound, found{5, core.Series{Ref: 1 << 63, Path: "p\xff", Labels: ls}, true})
	same(t, codeQuery, core.Query{Prefix: "a", After: "b", Matchers: []core.Matcher{m, core.Below("x"), core.Below()}, Order: core.ByPath, Page: 4, RefsOnly: true})
	same(t, codeLabelQuery, core.LabelQuery{Name: "a", Matchers: []core.Matcher{{Name: "b", Op: core.MatchEqual, Value: "c"}}, Most: 3, Combine: true, Names: []string{"d"}})
	same(t, codeInfo, core.Info{Series: core.Series{Ref: 1}, State: rra.State{W: []uint64{1, 1 << 63}, Text: []string{"", "U"}}})
	same(t, codeChange, core.Change{Was: "a", Path: "b", Ref: 2, Labels: ls, Metadata: true})
	same(t, codeSpans, []core.Span{{Ref: 1, Archive: core.OpenRow, Start: -1, End: 2, Known: true}, {Ref: 2, Archive: core.OpenRow, Start: -1, End: 2, Known: true}, {Ref: 2}, {}})
	same(t, codeRows, rowsPart{1, nil, core.Rows{Start: 1, End: 2, Step: 3, DS: []string{"a"}, Values: []float64{1.5}, First: 4}, 5})
	same(t, codeLasts, []core.LastTime{{Time: -5, There: true}, {Time: 1 << 59}})
	same(t, codeExpressions, partial.Question{Expressions: []string{"a"}, Start: 1, End: 2, Step: 3, Lookback: 4, Rules: 5, ForRule: true})
	same(t, codeEvaluated, partial.Answer{Series: []partial.Series{{Expression: 1, Labels: ls, Known: []byte{1}, Values: []float64{2}}}, Warnings: []string{"a"}, Infos: []string{"b"}})
	same(t, codeUpdating, updating{1, []byte{2}})
	same(t, codeSpec, core.Spec{Path: "a", Labels: ls, Start: 1, Overwrite: true, SmoothHash: 1 << 63})
	same(t, codeAltered, altered{1, []byte{2}, true})
	same(t, codePair, pair{"a", "b"})
	same(t, codeMetadata, core.PathMetadata{Path: "a", Metadata: core.Metadata{Time: 1, Text: "t", Attributes: ls, Expire: 2, Expired: true}, Expires: true})
	same(t, codeMetadataQuery, core.MetadataQuery{Path: "a", Prefix: "b", After: "c"})
	same(t, codeNoted, noted{"k", core.Note{Time: 1, Severity: "okay", Text: "t", Labels: ls}})
	same(t, codeDigested, core.Digested{At: 1, Sum: 1 << 63})
	same(t, codeSought, sought{"a", true})
	all := core.Labels{Texts: []string{"a"}, Combinations: []core.Combination{{Values: []string{"b"}, Definition: d}, {Definition: d}, {}}}
	got := sentOver(t, codeLabels, all)
	if c := got.Combinations; len(c) != 3 || c[0].Definition == nil || c[0].Definition != c[1].Definition || c[2].Definition != nil {
		t.Errorf("%+v becomes %+v", all, got)
	}
	created := sentOver(t, codeCreated, core.Created{Ref: 1, Err: core.ErrExists})
	if created.Ref != 1 || !errors.Is(created.Err, core.ErrExists) {
		t.Errorf("got %+v", created)
	}
}
