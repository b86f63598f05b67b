package router

import (
	"fmt"
	"sync"

	"github.com/rondo-db/rondo/rra"
)

// A combined is a combination of values and a definition as a key.
type combined struct {
	values string
	d      *rra.Definition
}

// mostDefinitions is how many pointers are remembered. Then all are forgotten.
const mostDefinitions = 64 << 10

// definitions makes equal definitions of several partitions one pointer. One store keeps each
// definition once, and callers compare pointers.
type definitions struct {
	known sync.Map // *rra.Definition of a partition → *rra.Definition that stands for it

	mu    sync.Mutex // guards what follows
	equal map[string]*rra.Definition
	count int // in known
}

func (ds *definitions) init() { ds.equal = make(map[string]*rra.Definition) }

// same returns the definition that stands for all that equal d.
func (ds *definitions) same(d *rra.Definition) *rra.Definition {
	if d == nil {
		return nil
	}
	if x, ok := ds.known.Load(d); ok {
		return x.(*rra.Definition)
	}
	key := fmt.Sprintf("%d %#v %#v", d.Step, d.Sources, d.Archives)
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.count++; ds.count > mostDefinitions {
		ds.known.Clear()
		ds.init()
		ds.count = 1
	}
	x := ds.equal[key]
	if x == nil {
		x = d
		ds.equal[key] = d
	}
	ds.known.Store(d, x)
	return x
}
