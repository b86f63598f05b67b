package router

import (
	"context"
	"sync"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// A Replica is an engine that knows how far it has come in the log of its partition. A Directory
// may return engines that are Replicas. A caller then reads what was written through the Store,
// whichever replica answers.
type Replica interface {
	core.Engine

	// Acknowledged returns a position at or above every change that the engine has acknowledged.
	Acknowledged() wal.Pos
	// Position returns the position up to which everything is applied.
	Position() wal.Pos
	// WaitFor returns when everything up to a position is applied. The error is ctx's, or says why
	// the replica will not get there.
	WaitFor(ctx context.Context, p wal.Pos) error
}

// A mark is the engine that has acknowledged a change of a partition last. Its position is asked
// for when somebody reads, and not for each change: whoever acknowledges may hold locks.
type mark struct {
	mu      sync.Mutex // guards what follows
	writer  Replica    // nil: nothing was changed
	changes uint64     // acknowledged so far
	known   uint64     // how many of them at includes
	at      wal.Pos
}

// acknowledged says that e has acknowledged a change.
func (m *mark) acknowledged(e core.Engine) {
	x, ok := e.(Replica)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writer = x
	m.changes++
}

// position returns a position at or above every change.
func (m *mark) position() wal.Pos {
	m.mu.Lock()
	writer, changes, at := m.writer, m.changes, m.at
	known := m.known == changes
	m.mu.Unlock()
	if known {
		return at
	}
	at = writer.Acknowledged()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at = max(m.at, at); changes > m.known {
		m.known = changes
	}
	return m.at
}
