package core

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// The states of the series and the rows not yet stored live outside the garbage
// collector's heap: they are large, hold no pointers and live long, and a heap
// of their size would let garbage grow to the same size before it is collected.

const (
	memoryChunk = 4 << 20 // bytes asked of the operating system at a time
	memoryAlign = 64
	memoryDrop  = 64 << 10 // blocks that give their pages back when they are free
)

// A memory hands out zeroed blocks of bytes and takes them back by size.
type memory struct {
	used     atomic.Int64 // bytes handed out
	reserved atomic.Int64 // bytes set aside for what is on its way

	mu     sync.Mutex // guards what follows
	rest   []byte     // of the newest chunk
	chunks [][]byte   // to be given back
	free   map[int][][]byte
}

func memorySize(n int) int { return (n + memoryAlign - 1) &^ (memoryAlign - 1) }

// alloc returns n zeroed bytes, aligned to a cache line.
func (m *memory) alloc(n int) []byte {
	size := memorySize(n)
	m.used.Add(int64(size))
	m.mu.Lock()
	defer m.mu.Unlock()
	if list := m.free[size]; len(list) > 0 {
		b := list[len(list)-1]
		m.free[size] = list[:len(list)-1]
		clear(b)
		return b[:n]
	}
	if size > memoryChunk/4 {
		return m.grow(size)[:n]
	}
	if len(m.rest) < size {
		m.rest = m.grow(memoryChunk)
	}
	b := m.rest[:size:size]
	m.rest = m.rest[size:]
	return b[:n]
}

// grow asks the operating system for n bytes. The caller holds mu.
func (m *memory) grow(n int) []byte {
	b, mapped := mapMemory(n)
	if mapped {
		m.chunks = append(m.chunks, b)
	}
	return b
}

// release takes back a block that alloc gave out.
func (m *memory) release(b []byte) {
	if b == nil {
		return
	}
	size := memorySize(len(b))
	m.used.Add(-int64(size))
	if size >= memoryDrop { // its size may not be asked for again: the pages go back, the addresses stay
		dropMemory(b[:size:size])
	}
	m.mu.Lock()
	if m.free == nil {
		m.free = make(map[int][][]byte)
	}
	m.free[size] = append(m.free[size], b[:size:size])
	m.mu.Unlock()
}

// close gives everything back to the operating system. No block may be used after it.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.chunks {
		unmapMemory(c)
	}
	m.chunks, m.rest, m.free = nil, nil, nil
}

// view returns the first n elements of type T that b holds.
func view[T any](b []byte, n int) []T {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}
