package core

import (
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

// A snapshot is what one group writes in a checkpoint.
type snapshot struct {
	g      *group
	pos    wal.Pos
	state  []byte // without the directory, which the transaction adds
	frozen []*pending.Rows
	dir    *rowblock.Directory // with the blocks of this checkpoint

	last  []int64   // by stream: the newest row of any series
	lows  [][]int64 // by stream and series: the oldest row it keeps
	alive []bool
}

func (sn *snapshot) size() int {
	n := len(sn.state)
	for _, p := range sn.frozen {
		n += int(p.Bytes())
	}
	return n
}

// windows notes, by stream, the newest row of any series, and the oldest row that each series
// keeps.
func (g *group) windows(sn *snapshot) {
	c := g.c
	sn.last = make([]int64, len(c.streams))
	sn.lows = make([][]int64, len(c.streams))
	sn.alive = make([]bool, g.n)
	for st := range c.streams {
		sn.last[st] = -1 << 62
		sn.lows[st] = make([]int64, g.n)
	}
	empty := true
	for i := range g.n {
		sn.alive[i] = g.alive(i)
		empty = empty && !sn.alive[i]
		if !sn.alive[i] || g.refused[i] != nil {
			continue
		}
		at := g.lastUpdate(i).Unix()
		for st := range c.streams {
			k := rowblock.FloorDiv(at, c.streams[st].Span)
			sn.last[st] = max(sn.last[st], k)
			sn.lows[st][i] = k - c.streams[st].Rows + 1
		}
	}
	for i := range g.refused { // its last update is unknown: keep as much as the newest series does
		for st := range c.streams {
			sn.lows[st][i] = sn.last[st] - c.streams[st].Rows + 1
		}
	}
	if empty { // no series will move the windows any more: drop all rows
		for st := range sn.last {
			sn.last[st] = 1 << 62
		}
	}
}
