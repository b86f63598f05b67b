package labelindex

import (
	"testing"

	"github.com/rondo-db/rondo/engine/internal/match"
)

// What Append has coded is decoded to the same series, as a list of indices and as a bitmap.
func TestPostingsAreCoded(t *testing.T) {
	for _, n := range []int{0, 1, 31, 32, GroupSize} {
		var p Posting
		for i := range n {
			p.Set((i * 7) % GroupSize)
		}
		code := p.Append(nil)
		got, err := DecodePosting(code)
		if err != nil || got != p || got.Count() != n || len(code) > 32 {
			t.Errorf("%d series: %d bytes, %d series, %v", n, len(code), got.Count(), err)
		}
	}
	if _, err := DecodePosting(make([]byte, 33)); err == nil {
		t.Error("33 bytes are decoded")
	}
}

func TestKeysAreParsed(t *testing.T) {
	g := Group{Class: 3, Number: 7}
	for _, l := range []match.Label{{}, {Name: "host"}, {Name: "host", Value: "web"}, OfDefinition(5)} {
		k := g.AppendKey(Key(l))
		x, err := Parse(k, []byte{4})
		if err != nil || x.ID != g || x.P.Count() != 1 || LabelOf(k) != l {
			t.Errorf("%v: %v of %v, %v", l, LabelOf(k), x, err)
		}
		for _, bad := range [][]byte{k[:7], k[1:], append([]byte{0}, k...), k[:len(k)-1]} {
			if _, err := Parse(bad, []byte{4}); err == nil && LabelOf(bad) == l {
				t.Errorf("%x is the key of %v", bad, l)
			}
		}
	}
}

// Two changes as one do to an entry what they do one after the other.
func TestChangesAsOne(t *testing.T) {
	var before Posting
	before.Set(1)
	before.Set(2)
	var older, newer Change
	older.Remove(1)
	older.Add(3)
	older.Add(4)
	newer.Add(1)
	newer.Remove(2)
	newer.Remove(4)
	want := before
	older.Apply(&want)
	newer.Apply(&want)
	got, both := before, newer.Over(older)
	if both.Apply(&got); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSets(t *testing.T) {
	one := func(class uint32, series ...int) GroupSet {
		g := GroupSet{ID: Group{Class: class}}
		for _, i := range series {
			g.P.Set(i)
		}
		return g
	}
	all := Gathered([]GroupSet{one(2, 1), one(1, 5, 6), one(3), one(2, 9)})
	if len(all) != 2 || all.Len() != 4 {
		t.Fatalf("gathered: %d groups, %d series", len(all), all.Len())
	}
	some := Gathered([]GroupSet{one(1, 6), one(2, 9, 10), one(4, 1)})
	copied := append(Set(nil), all...)
	if in := copied.within(some); in.Len() != 2 {
		t.Errorf("within: %d series", in.Len())
	}
	copied = append(Set(nil), all...)
	if out := copied.without(some); out.Len() != 2 {
		t.Errorf("without: %d series", out.Len())
	}
}
