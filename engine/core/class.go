package core

import (
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
)

// Series of one shape form a class: their states and row buffers have one
// stride, so that a group of them is a few arrays. A definition is everything
// else (names, kinds, limits); many series share one.

// A definition is an interned rra.Definition.
type definition struct {
	id     uint32
	m      *rra.Machine
	class  *class
	values int // readings a sample: data sources that are not COMPUTE
}

// Definitions holds every definition of a store, in order of their numbers. Readers take no lock;
// whoever adds one holds the catalogue's lock.
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
	step     int64
	words    int // of rra state, a series
	sources  int // data sources
	seasonal bool
	streams  []rowblock.Geometry
	cols     int   // streams * sources: columns of rows
	colOff   []int // column -> first of its rows among those of the buffers
	bufRows  int   // floats of all buffers of a series
	shift    uint  // series a group: 1 << shift

	machine *rra.Machine // of the first definition: what it says of a state beside values holds for the class
	defs    *definitions
	space   *groupSpace

	groups atomic.Pointer[[]*group]
	next   atomic.Uint32 // next series number; written in log order
}

const (
	groupShift = 8 // 256 series a group
	// Fewer series a group where each has many columns or a large state.
	maxGroupCols  = 4096
	maxGroupWords = 1 << 20
	// Fewer series a group, too, where slots are longer: a block of a slot is written anew each time it is merged.
	maxSlotValues = 1 << 20
)

// newClass lays out the class of m's shape. Its groups need space and defs; a class that only tells the
// layout has neither.
func newClass(id uint32, m *rra.Machine, space *groupSpace, defs *definitions) *class {
	d := m.Definition()
	c := &class{
		id: id, machine: m, space: space, defs: defs, shape: m.Shape(), step: d.Step, words: m.Words(),
		sources: len(d.Sources), seasonal: m.Seasonal(), shift: groupShift,
	}
	finest := int64(1 << 62)
	for _, s := range m.Streams() {
		finest = min(finest, s.PDPs)
	}
	for _, s := range m.Streams() {
		c.streams = append(c.streams, rowblock.NewGeometry(s, d.Step, finest))
	}
	c.layout()
	empty := []*group{}
	c.groups.Store(&empty)
	return c
}

// layout derives the offsets from streams and sources.
func (c *class) layout() {
	c.cols = len(c.streams) * c.sources
	c.colOff = make([]int, 0, c.cols)
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
}

// ref, number and group address: a Ref is the class in the upper half and the number in the lower.
func makeRef(class, number uint32) Ref { return Ref(class)<<32 | Ref(number) }

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

// index returns the place of a series number in its group.
func (c *class) index(number uint32) int { return int(number & (1<<c.shift - 1)) }
