package smon

import "github.com/rondo-db/rondo/receivers"

func (d *Decoder) indexCode(c byte) *receivers.Error {
	switch c {
	case codeClear:
		d.depth, d.row = 0, 0
		return nil
	case codeAppend:
		if d.depth == MaxDepth {
			return fault(receivers.Limit, "more than %d indexes", MaxDepth)
		}
	case codeLast:
		if d.depth == 0 {
			return fault(receivers.State, "FB without an index")
		}
	case codeBefore:
		if d.row+2 > d.depth {
			return fault(receivers.State, "FC without an index to replace")
		}
	}
	d.code, d.back = c, d.place
	d.expect(placeIndex)
	return nil
}

// index takes the number after an index code.
func (d *Decoder) index(n uint64) {
	switch d.code {
	case codeAppend:
		d.current[d.depth] = n
		d.depth++
		d.row = 0
	case codeLast:
		d.current[d.depth-1] = n
		d.row = 0
	case codeBefore:
		d.row++
		d.current[d.depth-1-d.row] = n
	}
	d.expect(d.back)
}

// effective returns the index of a value of t: the token's own index, followed by the rest of the
// current one.
func (d *Decoder) effective(t *Token) []uint64 {
	own := len(t.Index)
	switch {
	case own == 0:
		return d.current[:d.depth]
	case own >= d.depth:
		return t.Index
	}
	copy(d.whole[:], t.Index)
	copy(d.whole[own:], d.current[own:d.depth])
	return d.whole[:d.depth]
}
