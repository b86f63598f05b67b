package core

import (
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra/rows"
)

// adopt begins a series at an index with a state and rows.
func (g *group) adopt(i int, d *definition, x *importing) {
	g.start(i, d, 0, nil)
	g.storeWords(i, x.state.W)
	g.setText(i, x.state.Text)
	for j := range x.strips {
		g.pendStrip(i, &x.strips[j])
	}
}

// pendStrip adds rows that are coded already to the pending rows of the series at index i. Where
// they cross a slot, as a class laid out by an earlier version may have it, they are coded anew.
func (g *group) pendStrip(i int, sg *importStrip) {
	st := &g.c.streams[sg.column/g.c.sources]
	if n := (rowblock.FloorDiv(sg.k, st.Slot)+1)*st.Slot - sg.k; int64(sg.rows) > n {
		g.pendSplit(i, sg, int(n))
		return
	}
	g.waiting().AddCoded(i, sg.column, uint32(sg.k), sg.rows, sg.data)
}

// pendSplit adds the first n rows of sg and the others apart.
func (g *group) pendSplit(i int, sg *importStrip, n int) {
	st := &g.c.streams[sg.column/g.c.sources]
	front := importStrip{sg.column, sg.k, n, sg.data}
	rest := importStrip{sg.column, sg.k + int64(n), sg.rows - n, sg.data}
	if _, _, run := rows.RunOf(sg.data, st.PDPs); !run {
		vals, _, err := rows.Decode(nil, sg.data, sg.rows, st.PDPs)
		if err != nil {
			return // the rows were coded, or checked, just now
		}
		var hint rows.Hint
		front.data = rows.Append(nil, vals[:n], st.PDPs, &hint)
		rest.data = rows.Append(nil, vals[n:], st.PDPs, &hint)
	}
	g.pendStrip(i, &front)
	g.pendStrip(i, &rest)
}
