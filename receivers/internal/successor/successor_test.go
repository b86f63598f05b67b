package successor_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/receivers/internal/successor"
)

// lookup finds the entry of a key as an owner of a table does.
func lookup(t *successor.Table, keys []string, h uint32, key string) (i uint32, foreseen bool) {
	if n := t.Foreseen(); n != successor.None && keys[n] == key {
		t.Found(n)
		return n, true
	}
	for i, at := t.Probe(h, h); i != successor.None; i, at = t.Probe(h, at) {
		if keys[i] == key {
			t.Follow(i)
			return i, false
		}
	}
	t.Lose()
	return successor.None, false
}

// TestTableModel compares a table with a map, with hashes that often are the same.
func TestTableModel(t *testing.T) {
	for _, bits := range []uint32{0, 0xf, 0xffff} {
		var table successor.Table
		var keys []string
		want := make(map[string]uint32)
		rnd := rand.New(rand.NewPCG(1, uint64(bits)))
		for step := range 20_000 {
			n := rnd.Uint32N(300)
			key, h := fmt.Sprint(n), (n*0x9e3779b9)&bits
			i, _ := lookup(&table, keys, h, key)
			number, ok := want[key]
			if ok != (i != successor.None) || ok && i != number {
				t.Fatalf("step %d: %s is %d, want %d %t", step, key, i, number, ok)
			}
			if !ok {
				i = table.Add(h)
				table.Follow(i)
				want[key] = i
				keys = append(keys, key)
			}
			if table.Last() != i || !table.Is(i, h) || table.Len() != len(want) {
				t.Fatalf("step %d: the last of %d is %d, want %d of %d", step, table.Len(), table.Last(), i, len(want))
			}
			if rnd.IntN(5000) == 0 {
				table.Clear()
				clear(want)
				keys = keys[:0]
			}
		}
	}
}

// TestTableForesees: what came in an order once is foreseen in that order from then on, wherever
// the order begins.
func TestTableForesees(t *testing.T) {
	var table successor.Table
	var keys []string
	order := []string{"b", "d", "a", "c"}
	for i := range order {
		keys = append(keys, string(rune('a'+i)))
		table.Add(uint32(i))
	}
	for round := range 3 {
		for at, key := range order {
			_, foreseen := lookup(&table, keys, uint32(key[0]-'a'), key)
			if want := round > 1 || round == 1 && at > 0; foreseen != want {
				t.Errorf("round %d: %s is foreseen: %t", round, key, foreseen)
			}
		}
	}
	table.Lose()
	if table.Last() != successor.None || table.Foreseen() != successor.None {
		t.Error("something is foreseen behind nothing")
	}
}

// TestKeys: keys are found at their places, across chunks, and again after a start over.
func TestKeys(t *testing.T) {
	var keys successor.Keys
	for round := range 2 {
		var places []uint32
		key := func(i int) (a, b []byte) {
			return fmt.Appendf(nil, "%d/%d", round, i), bytes.Repeat([]byte{byte(i)}, i%3000)
		}
		for i := range 3000 {
			places = append(places, keys.Add(key(i)))
		}
		for i, p := range places {
			a, b := key(i)
			if want := append(a, b...); !bytes.HasPrefix(keys.At(p), want) {
				t.Fatalf("round %d: key %d begins %.20q, want %.20q", round, i, keys.At(p), want)
			}
		}
		if keys.Chunks() < 4 {
			t.Errorf("%d chunks: too few to tell anything", keys.Chunks())
		}
		keys.Clear()
	}
}

// TestCacheModel compares a cache with a map, over keys whose parts can be mixed up.
func TestCacheModel(t *testing.T) {
	c := successor.NewCache[int](200, successor.MaxChunks)
	want := make(map[[2]string]int)
	rnd := rand.New(rand.NewPCG(1, 1))
	part := func() []byte { return []byte("abcabc")[:rnd.IntN(7)] }
	long := bytes.Repeat([]byte("x"), 1000)
	for step := range 20_000 {
		a, b := part(), append(part(), long[:rnd.IntN(30)]...)
		find := c.Find
		if rnd.IntN(2) == 0 {
			find = c.FindAgain
		}
		key := [2]string{string(a), string(b)}
		i, ok := find(a, b)
		n, known := want[key]
		if ok != known || ok && (*c.At(i) != n || c.Last() != i) {
			t.Fatalf("step %d: %q is %d %t, want %d %t", step, key, i, ok, n, known)
		}
		if ok {
			continue
		}
		if c.Full() {
			c.Clear()
			clear(want)
		}
		i = c.Add(a, b)
		if *c.At(i) != 0 {
			t.Fatalf("step %d: a new key has %d", step, *c.At(i))
		}
		*c.At(i), want[key] = step, step
		if x, y := c.Key(i); string(x) != key[0] || string(y) != key[1] {
			t.Fatalf("step %d: %q is kept as %q %q", step, key, x, y)
		}
	}
}
