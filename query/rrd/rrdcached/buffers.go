package rrdcached

import "sync"

// The sizes of a connection's buffer for requests.
const (
	smallBuffer = 16 << 10  // holds more than one request of MaxLine
	largeBuffer = 256 << 10 // for a few of the connections that have filled the small one
)

type buffers struct {
	size int
	pool sync.Pool
}

func (b *buffers) get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, b.size)
}

func (b *buffers) put(p []byte) { b.pool.Put(&p) }
