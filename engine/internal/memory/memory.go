// Package memory hands out memory outside the garbage collector's heap, and counts it against a
// budget.
//
// The states of the series and the rows that are not stored yet live there. They are large, hold no
// pointers and live long. On the heap they would let garbage grow to their own size before the
// collector runs.
//
// A [Pool] is one such memory: Alloc and Release hand blocks out and take them back, [View] lays a
// typed slice over a block, Count adds bytes that lie on the heap after all, Reserve sets bytes
// aside before they are needed. Close unmaps everything: a slice over a block must not outlive the
// pool.
package memory

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	chunkSize = 4 << 20  // bytes asked of the operating system at a time
	alignment = 64       // of a block: a cache line
	dropSize  = 64 << 10 // blocks from this size on give their pages back when they are released
)

// A Pool hands out zeroed blocks of bytes and takes them back by size. The zero Pool is empty and
// ready to use. Its methods may be called concurrently.
type Pool struct {
	used     atomic.Int64 // bytes handed out or counted
	reserved atomic.Int64 // bytes set aside

	mu     sync.Mutex       // guards rest, chunks and free; taken last and alone
	rest   []byte           // the part of the newest chunk that was not handed out yet
	chunks [][]byte         // mapped pieces, for Close
	free   map[int][][]byte // released blocks by size
}

// Size returns how many bytes of the pool a block of n bytes takes.
func Size(n int) int { return (n + alignment - 1) &^ (alignment - 1) }

// Alloc returns n zeroed bytes, aligned to a cache line.
func (p *Pool) Alloc(n int) []byte {
	size := Size(n)
	p.used.Add(int64(size))
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := p.free[size]; len(list) > 0 {
		b := list[len(list)-1]
		p.free[size] = list[:len(list)-1]
		clear(b)
		return b[:n]
	}
	if size > chunkSize/4 {
		return p.grow(size)[:n]
	}
	if len(p.rest) < size {
		p.rest = p.grow(chunkSize)
	}
	b := p.rest[:size:size]
	p.rest = p.rest[size:]
	return b[:n]
}

// grow asks the operating system for n bytes. The caller holds mu.
func (p *Pool) grow(n int) []byte {
	b, mapped := mapPages(n)
	if mapped {
		p.chunks = append(p.chunks, b)
	}
	return b
}

// Release takes back a block that Alloc has returned. A nil block is ignored.
func (p *Pool) Release(b []byte) {
	if b == nil {
		return
	}
	size := Size(len(b))
	p.used.Add(-int64(size))
	if size >= dropSize { // nobody may ask for this size again: the pages go back, the addresses stay
		dropPages(b[:size:size])
	}
	p.mu.Lock()
	if p.free == nil {
		p.free = make(map[int][][]byte)
	}
	p.free[size] = append(p.free[size], b[:size:size])
	p.mu.Unlock()
}

// Close gives everything back to the operating system. No block may be used after it.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.chunks {
		unmapPages(c)
	}
	p.chunks, p.rest, p.free = nil, nil, nil
}

// View returns the first n elements of type T in b. T must hold no pointers, and b must be aligned
// for T: the start of a block is aligned for every T.
func View[T any](b []byte, n int) []T {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}
