package core

import (
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/defcode"
	"github.com/rondo-db/rondo/engine/internal/memory"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
)

// Series of one shape form a class. Their states and row buffers have the same size, so that a
// group of them is a few arrays. What else a series is made from (names, kinds, limits) is its
// definition, and many series share one.

// A definition is an rra.Definition that the catalogue keeps once, with a number.
type definition struct {
	id     uint32
	m      *rra.Machine
	class  *class
	values int // readings in a sample: one for each data source that is not COMPUTE
}

// code is what the database keeps of the definition.
func (d *definition) code() []byte { return defcode.Append(nil, d.m.Definition()) }

// Definitions holds every definition of a store, in order of their numbers. Readers take no lock; a
// caller that adds one holds the catalogue's mu.
type definitions struct {
	atomic.Pointer[[]*definition]
}

// byID returns a definition by its number, or nil.
func (ds *definitions) byID(id uint32) *definition {
	list := *ds.Load()
	if id == 0 || int(id) > len(list) {
		return nil
	}
	return list[id-1]
}

// A class is the layout that series of one shape share. Only next and groups change.
type class struct {
	id       uint32
	shape    string
	step     int64 // seconds
	words    int   // 64-bit words of the state of a series
	sources  int   // data sources
	seasonal bool
	tabular  bool // states lie word by word: see rra.Table
	streams  []rowblock.Geometry
	cols     int   // columns of rows: one for each stream and data source
	colOff   []int // by column: its first row among the rows of the buffers
	bufRows  int   // rows of all buffers of a series
	shift    uint  // a group has 1<<shift series

	// machine belongs to the first definition of the class. It reads the words that have the same
	// place in all states of the shape.
	machine *rra.Machine
	defs    *definitions
	space   *groupSpace

	groups atomic.Pointer[[]*group]
	next   atomic.Uint32 // next series number; written in log order
}

const (
	// groupShift makes groups of 256 series, unless one of the limits below makes them smaller.
	groupShift = 8
	// maxGroupCols bounds the columns of a group.
	maxGroupCols = 4096
	// maxGroupWords bounds the words of the states and buffers of a group.
	maxGroupWords = 1 << 20
	// maxSlotValues bounds the values in one slot of a group where slots are long: a merge writes
	// all of them anew.
	maxSlotValues = 1 << 20
	// largeSeries is the size of a state, in bytes, above which a series is a group of its own. It
	// is then loaded and unloaded by itself.
	largeSeries = 64 << 10
)

// newClass lays out the class of m's shape. Its groups need space and defs; a class that only has
// the layout has neither.
func newClass(id uint32, m *rra.Machine, space *groupSpace, defs *definitions) *class {
	d := m.Definition()
	c := &class{
		id: id, machine: m, space: space, defs: defs, shape: m.Shape(), step: d.Step, words: m.Words(),
		sources: len(d.Sources), seasonal: m.Seasonal(), tabular: m.Tabular(), shift: groupShift,
	}
	c.streams = rowblock.Layout(m.Streams(), d.Step)
	c.cols = len(c.streams) * c.sources
	for _, s := range c.streams {
		for range c.sources {
			c.colOff = append(c.colOff, c.bufRows)
			c.bufRows += int(s.Buffer)
		}
	}
	if 8*(c.words+c.bufRows) > largeSeries {
		c.shift = 0
	}
	longest := int64(0)
	for _, s := range c.streams {
		if s.Slot > rowblock.MaxSlotRows {
			longest = max(longest, s.Slot)
		}
	}
	for c.shift > 0 && (c.cols<<c.shift > maxGroupCols || (c.words+c.bufRows)<<c.shift > maxGroupWords ||
		longest*int64(c.sources)<<c.shift > maxSlotValues) {
		c.shift--
	}
	c.groups.Store(&[]*group{})
	return c
}

// makeRef returns the reference of a series: its class in the upper half, its number in the lower
// half.
func makeRef(class, number uint32) Ref { return Ref(class)<<32 | Ref(number) }

// refAt returns the reference of the series at an index of a group.
func (c *class) refAt(group uint32, index int) Ref {
	return makeRef(c.id, group<<c.shift+uint32(index))
}

// groupOf returns the group of a series number.
func (c *class) groupOf(number uint32) groupID {
	return groupID{Class: c.id, Number: number >> c.shift}
}

func (r Ref) class() uint32  { return uint32(r >> 32) }
func (r Ref) number() uint32 { return uint32(r) }

// group returns the group of a series number, or nil.
func (c *class) group(number uint32) *group {
	gs := *c.groups.Load()
	if i := number >> c.shift; int(i) < len(gs) {
		return gs[i]
	}
	return nil
}

// index returns the index of a series number in its group.
func (c *class) index(number uint32) int { return int(number & (1<<c.shift - 1)) }

// A groupSpace is what the groups of a store share: the memory that they live in, and the counters
// that they keep. A class carries a pointer to it, so that its groups need not know the store.
type groupSpace struct {
	memory.Pool
	held       atomic.Int64  // samples in reorder windows
	loaded     atomic.Int64  // how often the state of a group was loaded
	unloaded   atomic.Int64  // how often a group has given its memory back
	rowsStored atomic.Uint64 // rows that checkpoints have written
}
