package core

import "sync"

// stateBuffers keeps buffers that state records are coded into, for the next transaction of a
// checkpoint.
type stateBuffers struct {
	limit int // of the capacity of all buffers that are kept, in bytes

	mu    sync.Mutex // guards what follows; taken alone
	free  [][]byte
	bytes int // capacity of all of free
}

// get returns an empty buffer.
func (sb *stateBuffers) get() []byte {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	n := len(sb.free)
	if n == 0 {
		return nil
	}
	b := sb.free[n-1]
	sb.free = sb.free[:n-1]
	sb.bytes -= cap(b)
	return b[:0]
}

// put takes a buffer back, and keeps it if it is small and the limit allows.
func (sb *stateBuffers) put(b []byte) {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if cap(b) <= 1<<20 && len(sb.free) < groupsPerTx && sb.bytes+cap(b) <= sb.limit {
		sb.free = append(sb.free, b)
		sb.bytes += cap(b)
	}
}

// drop lets go of all buffers: the next checkpoint may be far away.
func (sb *stateBuffers) drop() {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	sb.free, sb.bytes = nil, 0
}
