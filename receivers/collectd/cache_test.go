package collectd

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// alone says that v does not follow another list.
func alone(v *ValueList) *ValueList {
	v.changed = ofFirst | ofAll
	return v
}

// TestCacheModel compares the cache with a map, over packets of names that are made to be mixed up,
// which begin and break off anywhere.
func TestCacheModel(t *testing.T) {
	for _, most := range []int{1 << 20, 500, 100} {
		c := newCache(most)
		rnd := rand.New(rand.NewPCG(1, uint64(most)))
		set := func(p *[]byte) { *p = []byte([]string{"", "a", "ab", "\x00"}[rnd.IntN(4)]) }
		want := make(map[string]core.Ref)
		hits, short, cleared := 0, 0, 0
		v := &ValueList{}
		for i := range 60_000 {
			if i == 0 || rnd.IntN(8) == 0 {
				v = alone(v)
			}
			for which, p := range map[parts]*[]byte{
				ofHost: &v.Host, ofPlugin: &v.Plugin, ofPluginInstance: &v.PluginInstance, ofType: &v.Type, ofTypeInstance: &v.TypeInstance,
			} {
				if v.changed&ofFirst != 0 || rnd.IntN(12) == 0 {
					set(p)
					v.changed |= which
				}
			}
			v.Kinds = v.Kinds[:0]
			for range 1 + rnd.IntN(5)/4 {
				v.Kinds = append(v.Kinds, byte(rnd.IntN(5)/4))
			}
			if rnd.IntN(50) == 0 { // it is dropped before it is looked up
				c.skip()
				v.changed = 0
				continue
			}
			key := fmt.Sprintf("%q", [][]byte{v.Host, v.Plugin, v.PluginInstance, v.Type, v.TypeInstance, v.Kinds})
			c.key = c.key[:0]
			e := c.find(v)
			v.changed = 0
			ref, ok := want[key]
			if ok != (e != nil) || ok && e.Ref != ref {
				t.Fatalf("step %d: %s is %v, want %d %t", i, key, e, ref, ok)
			}
			if ok {
				hits++
				if len(c.key) == 0 {
					short++
				}
				continue
			}
			if len(want) == most {
				clear(want)
				cleared++
			}
			want[key] = core.Ref(i + 1)
			c.add(v).Ref = core.Ref(i + 1)
			if c.Len() != len(want) {
				t.Fatalf("step %d: %d entries, want %d", i, c.Len(), len(want))
			}
		}
		t.Logf("%d: %d entries, %d hits, %d of them foreseen, cleared %d times", most, c.Len(), hits, short, cleared)
		if hits < 2000 || short < 200 || most <= 500 && cleared < 5 {
			t.Errorf("%d hits, %d foreseen, cleared %d times: too few to tell anything", hits, short, cleared)
		}
	}
}

// TestCacheForesees: lists that come in the order in which they came before are found without the
// table, wherever packets begin.
func TestCacheForesees(t *testing.T) {
	c := newCache(1 << 20)
	for round := range 4 {
		misses, compared := 0, 0
		for i := range 1000 {
			v := &ValueList{Names: Names{Host: []byte("h"), Plugin: fmt.Append(nil, i/10), TypeInstance: fmt.Append(nil, i)}, Kinds: []byte{1}}
			v.changed = ofTypeInstance
			if i%10 == 0 {
				v.changed |= ofPlugin
			}
			if i%(30+round) == 0 {
				alone(v)
			}
			c.key = c.key[:0]
			if c.find(v) == nil {
				c.add(v)
			}
			if len(c.key) > 0 {
				misses++
			}
			if c.At(uint32(i)).differs&ofHost != 0 {
				compared++
			}
		}
		if round == 2 && compared > 1 {
			t.Errorf("the host of %d lists would be compared, which is the same for all", compared)
		}
		if want := []int{1000, 1, 0, 0}[round]; misses > want+1 {
			t.Errorf("round %d: %d lists not foreseen, want %d", round, misses, want)
		}
	}
}

// TestCacheChunks: keys of the largest size fill many chunks, and are found again after a start
// over.
func TestCacheChunks(t *testing.T) {
	c := newCache(5_000)
	long := make([]byte, nameBytes)
	make1 := func(i int) *ValueList {
		host := append([]byte(nil), long...)
		copy(host, fmt.Sprint(i))
		return alone(&ValueList{Names: Names{Host: host, Plugin: long, PluginInstance: long, Type: long, TypeInstance: long}, Kinds: make([]byte, maxSources)})
	}
	for round := range 2 {
		for i := range 5_000 {
			v := make1(i + round*5_000)
			c.find(v)
			c.add(v).Ref = core.Ref(i + 1)
		}
		for i := range 5_000 {
			if e := c.find(make1(i + round*5_000)); e == nil || e.Ref != core.Ref(i+1) {
				t.Fatalf("round %d: %d is %v", round, i, e)
			}
		}
	}
}
