package web

import (
	"container/list"
	"sync"
)

// A gallery keeps the pictures that were asked for last, so that many viewers of one graph cost one
// drawing. Its methods may be called at the same time.
type gallery struct {
	mu       sync.Mutex // guards the fields below
	pictures map[string]*list.Element
	order    *list.List // of *picture, the one asked for last first
	bytes    int
}

// A picture is the body of an answer, and the tag that names it.
type picture struct {
	tag  string
	data []byte
}

func newGallery() *gallery {
	return &gallery{pictures: make(map[string]*list.Element), order: list.New()}
}

// get returns the picture of a tag, or nil.
func (g *gallery) get(tag string) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.pictures[tag]
	if e == nil {
		return nil
	}
	g.order.MoveToFront(e)
	return e.Value.(*picture).data
}

// put keeps a picture. If the pictures then take too much memory, it forgets those that were asked
// for longest ago.
func (g *gallery) put(tag string, data []byte) {
	if len(data) > galleryPicture {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pictures[tag] != nil {
		return
	}
	g.pictures[tag] = g.order.PushFront(&picture{tag, data})
	for g.bytes += len(data); g.bytes > galleryBytes; {
		last := g.order.Remove(g.order.Back()).(*picture)
		delete(g.pictures, last.tag)
		g.bytes -= len(last.data)
	}
}
