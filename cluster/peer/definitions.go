package peer

import (
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A dictionary numbers the definitions of a message or a stream, from 1 on. Many series share one.
type dictionary struct {
	byPointer map[*rra.Definition]uint32
	byCode    map[string]uint32
	fresh     [][]byte // those that have not been sent
}

// number returns the number of d; 0: d is nil.
func (x *dictionary) number(d *rra.Definition) uint32 {
	if d == nil {
		return 0
	}
	if n := x.byPointer[d]; n != 0 {
		return n
	}
	if x.byPointer == nil {
		x.byPointer, x.byCode = make(map[*rra.Definition]uint32), make(map[string]uint32)
	}
	code := core.AppendDefinition(nil, d)
	n := x.byCode[string(code)]
	if n == 0 {
		n = uint32(len(x.byCode) + 1)
		x.byCode[string(code)] = n
		x.fresh = append(x.fresh, code)
	}
	x.byPointer[d] = n
	return n
}

// take returns the definitions that have not been sent, in order of their numbers.
func (x *dictionary) take() [][]byte {
	fresh := x.fresh
	x.fresh = nil
	return fresh
}

// A reading is the definitions of a stream, as its reader gets them.
type reading []*rra.Definition

func (x *reading) add(codes [][]byte) error {
	for _, code := range codes {
		d, err := core.ParseDefinition(code)
		if err != nil {
			return err
		}
		*x = append(*x, d)
	}
	return nil
}

func (x reading) get(n uint32) (*rra.Definition, error) {
	if n == 0 {
		return nil, nil
	}
	if int64(n) > int64(len(x)) {
		return nil, malformed("definition %d of %d", n, len(x))
	}
	return x[n-1], nil
}
