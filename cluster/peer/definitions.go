package peer

import (
	"sync"

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
type reading struct {
	known *known // nil: definitions are not shared with other streams
	list  []*rra.Definition
}

func (x *reading) add(codes [][]byte) error {
	for _, code := range codes {
		d, err := x.known.definition(code)
		if err != nil {
			return err
		}
		x.list = append(x.list, d)
	}
	return nil
}

func (x *reading) get(n uint32) (*rra.Definition, error) {
	if n == 0 {
		return nil, nil
	}
	if int64(n) > int64(len(x.list)) {
		return nil, malformed("definition %d of %d", n, len(x.list))
	}
	return x.list[n-1], nil
}

// maxKnown is how many definitions a client remembers.
const maxKnown = 4096

// known remembers definitions, so that equal ones are one, with their machines.
type known struct {
	mu       sync.Mutex // guards what follows
	byCode   map[string]*rra.Definition
	machines map[*rra.Definition]*rra.Machine
}

// definition returns the definition of a code. A nil receiver remembers none.
func (k *known) definition(code []byte) (*rra.Definition, error) {
	if k == nil {
		return core.ParseDefinition(code)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if d := k.byCode[string(code)]; d != nil {
		return d, nil
	}
	d, err := core.ParseDefinition(code)
	if err != nil || d == nil {
		return nil, err
	}
	if len(k.byCode) >= maxKnown || k.byCode == nil {
		k.byCode, k.machines = make(map[string]*rra.Definition), make(map[*rra.Definition]*rra.Machine)
	}
	k.byCode[string(code)] = d
	return d, nil
}

// machine returns the machine of a definition that definition has returned.
func (k *known) machine(d *rra.Definition) (*rra.Machine, error) {
	k.mu.Lock()
	m := k.machines[d]
	k.mu.Unlock()
	if m != nil || d == nil {
		return m, nil
	}
	m, err := rra.Compile(d)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.machines[d] = m
	return m, nil
}
