package collectd

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/engine"
)

// hashed returns v as a decoder of c hands it over.
func hashed(c *cache, v *ValueList) *ValueList {
	for i, p := range [...][]byte{v.Host, v.Plugin, v.PluginInstance, v.Type, v.TypeInstance} {
		v.hash[i] = maphash.Bytes(c.seed, p)
	}
	return v
}

// TestCacheModel compares the cache with a map, over names that are made to be mixed up.
func TestCacheModel(t *testing.T) {
	for _, most := range []int{1 << 20, 500} {
		c := newCache(most)
		rnd := rand.New(rand.NewPCG(1, uint64(most)))
		part := func() []byte { return []byte([]string{"", "a", "ab", "\x00"}[rnd.IntN(4)]) }
		want := make(map[string]engine.Ref)
		hits, cleared := 0, 0
		for i := range 30_000 {
			v := &ValueList{Host: part(), Plugin: part(), PluginInstance: part(), Type: part(), TypeInstance: part()}
			for range 1 + rnd.IntN(2) {
				v.add(byte(rnd.IntN(4)), 0)
			}
			hashed(c, v)
			key := fmt.Sprintf("%q", [][]byte{v.Host, v.Plugin, v.PluginInstance, v.Type, v.TypeInstance, v.Kinds})
			e, h := c.find(v)
			ref, ok := want[key]
			if ok != (e != nil) || ok && e.ref != ref {
				t.Fatalf("step %d: %s is %v, want %d %t", i, key, e, ref, ok)
			}
			if ok {
				hits++
				continue
			}
			if len(want) == most {
				clear(want)
				cleared++
			}
			want[key] = engine.Ref(i + 1)
			c.add(v, h).ref = engine.Ref(i + 1)
			if c.len() != len(want) {
				t.Fatalf("step %d: %d entries, want %d", i, c.len(), len(want))
			}
		}
		t.Logf("most %d: %d entries, %d hits, cleared %d times", most, c.len(), hits, cleared)
		if hits < 200 || most == 500 && cleared < 5 {
			t.Errorf("%d hits, cleared %d times: too few to tell anything", hits, cleared)
		}
	}
}

// TestCacheCollision: keys of one hash stay apart.
func TestCacheCollision(t *testing.T) {
	c := newCache(1 << 20)
	lists := make([]*ValueList, 500)
	for i := range lists {
		lists[i] = &ValueList{Host: fmt.Append(nil, "host", i), Kinds: []byte{1}} // no hashes: all zero
		e, h := c.find(lists[i])
		if e != nil {
			t.Fatalf("%d is taken for %d", i, e.ref)
		}
		c.add(lists[i], h).ref = engine.Ref(i + 1)
	}
	for i, v := range lists {
		if e, _ := c.find(v); e == nil || e.ref != engine.Ref(i+1) {
			t.Fatalf("%d is taken for %v", i, e)
		}
	}
}

// TestCacheChunks: keys of the largest size fill many chunks, and are found again after a start over.
func TestCacheChunks(t *testing.T) {
	c := newCache(5_000)
	long := make([]byte, nameBytes)
	make1 := func(i int) *ValueList {
		host := append([]byte(nil), long...)
		copy(host, fmt.Sprint(i))
		return hashed(c, &ValueList{Host: host, Plugin: long, PluginInstance: long, Type: long, TypeInstance: long, Kinds: make([]byte, maxSources)})
	}
	for round := range 2 {
		for i := range 5_000 {
			v := make1(i + round*5_000)
			_, h := c.find(v)
			c.add(v, h).ref = engine.Ref(i + 1)
		}
		for i := range 5_000 {
			if e, _ := c.find(make1(i + round*5_000)); e == nil || e.ref != engine.Ref(i+1) {
				t.Fatalf("round %d: %d is %v", round, i, e)
			}
		}
		if len(c.chunks) < 4 {
			t.Errorf("%d chunks: too few to tell anything", len(c.chunks))
		}
	}
}
