package natsconn

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// muteTime is how long calls may fail before another server is tried.
	muteTime = 3 * time.Second
	// hopAgain is the time between two changes of the server.
	hopAgain = 10 * time.Second
)

// A Hop lets a connection go to another server when no call has been answered for 3 s. A server
// that is cut off from the others, or hangs, keeps its clients: the client stays with it. The zero
// value is ready to use. Its methods may be called concurrently.
type Hop struct {
	mu     sync.Mutex
	mute   time.Time // since when all calls have failed; zero: they have not
	failed time.Time // the last one of them
	last   time.Time // when the connection went to another server
}

// Heard takes in whether a call was answered, be it with a refusal.
func (h *Hop) Heard(nc *nats.Conn, answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	before := h.failed
	if !answered {
		h.failed = now
	}
	switch {
	case answered:
		h.mute = time.Time{}
	case h.mute.IsZero(), now.Sub(before) >= hopAgain: // a call now and then
		h.mute = now
	case now.Sub(h.mute) >= muteTime && now.Sub(h.last) >= hopAgain:
		h.mute, h.last = time.Time{}, now
		_ = nc.ForceReconnect() // an error says that the connection is closed
	}
}
