package rowblock

import (
	"cmp"
	"slices"
)

// A NewBlock is the strips that a checkpoint adds to one slot of a stream.
type NewBlock struct {
	Stream int
	Slot   int64
	Strips []Strip // in the order of CompareStrips
	Merged bool    // a merge has written them already
}

// An Arranger sorts the new strips of a group into the blocks of their slots. Strips are added one
// series after the other, and the strips of a column in the order in which their rows came. The
// zero Arranger must be Reset before it takes strips.
type Arranger struct {
	series  int // of the group
	sources int // of a series
	blocks  []NewBlock
	at      map[slotAt]int
	latest  []int     // by stream: 1 more than the index of the block that was used last
	spare   [][]Strip // of the blocks before the last Reset, empty
}

type slotAt struct {
	stream int
	slot   int64
}

// Reset readies a for a group with a number of streams, series, and data sources a series. The
// blocks that Blocks returned before, and their strips, must not be used any more.
func (a *Arranger) Reset(streams, series, sources int) {
	for i := range a.blocks {
		if b := a.blocks[i].Strips; cap(b) > 0 { // the caller may have deleted a block
			clear(b) // they would hold on to coded rows
			a.spare = append(a.spare, b[:0])
		}
	}
	a.series, a.sources = series, sources
	clear(a.blocks)
	a.blocks = a.blocks[:0]
	a.latest = slices.Grow(a.latest[:0], streams)[:streams]
	clear(a.latest)
	if a.at == nil {
		a.at = make(map[slotAt]int)
	}
	clear(a.at)
}

// Add adds a strip to the block of a slot.
func (a *Arranger) Add(stream int, slot int64, s Strip) {
	b := a.block(stream, slot)
	b.Strips = append(b.Strips, s)
}

func (a *Arranger) block(stream int, slot int64) *NewBlock {
	if n := a.latest[stream]; n > 0 && a.blocks[n-1].Slot == slot {
		return &a.blocks[n-1]
	}
	n, ok := a.at[slotAt{stream, slot}]
	if !ok {
		n = len(a.blocks)
		a.blocks = append(a.blocks, NewBlock{Stream: stream, Slot: slot, Strips: a.strips()})
		a.at[slotAt{stream, slot}] = n
	}
	a.latest[stream] = n + 1
	return &a.blocks[n]
}

// strips returns room for the strips of one more block.
func (a *Arranger) strips() []Strip {
	if n := len(a.spare); n > 0 {
		b := a.spare[n-1]
		a.spare = a.spare[:n-1]
		return b
	}
	if len(a.blocks) < 4*len(a.latest) { // most series have rows in the first blocks, few in others
		return make([]Strip, 0, a.series)
	}
	return nil
}

// Blocks returns the blocks in order of stream and slot.
func (a *Arranger) Blocks() []NewBlock {
	slices.SortFunc(a.blocks, compareBlocks)
	if a.sources > 1 {
		for i := range a.blocks {
			slices.SortStableFunc(a.blocks[i].Strips, CompareStrips)
		}
	}
	return a.blocks
}

func compareBlocks(a, b NewBlock) int {
	return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Slot, b.Slot))
}

// FindBlock returns the block of a slot among the blocks that Blocks returned, or nil.
func FindBlock(blocks []NewBlock, stream int, slot int64) *NewBlock {
	if i, found := slices.BinarySearchFunc(blocks, NewBlock{Stream: stream, Slot: slot}, compareBlocks); found {
		return &blocks[i]
	}
	return nil
}
