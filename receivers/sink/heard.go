package sink

import (
	"log/slog"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/receivers"
)

// maxHeard bounds the senders that a heard remembers. Nothing is logged about senders beyond it.
const maxHeard = 1 << 16

// A heard logs who begins to send, and which series are made for whom.
type heard struct {
	log   *slog.Logger
	now   func() time.Time
	lines loglimit.Limit[string] // of lines about new series, by sender

	mu sync.Mutex // guards unlogged
	// unlogged counts, by sender, the series made since the last line about them.
	unlogged map[string]*int
}

// from logs a sender that was not heard before, with the first path that it sends.
func (h *heard) from(r *receivers.Request) {
	h.mu.Lock()
	_, known := h.unlogged[r.Sender]
	full := len(h.unlogged) >= maxHeard
	if !known && !full {
		if h.unlogged == nil {
			h.unlogged = make(map[string]*int)
		}
		h.unlogged[r.Sender] = new(int)
	}
	h.mu.Unlock()
	if !known && !full {
		h.log.Info("a sender has begun to send", "sender", r.Sender, "first", r.Path)
	}
}

// made logs that n series were made for the sender of r, whose series is the last of them. It logs
// at most one line a minute for each sender.
func (h *heard) made(r *receivers.Request, n int) {
	h.mu.Lock()
	count := h.unlogged[r.Sender]
	if count == nil {
		h.mu.Unlock()
		return
	}
	*count += n
	n = *count
	ok, _ := h.lines.Allow(r.Sender, h.now())
	if ok {
		*count = 0
	}
	h.mu.Unlock()
	if ok {
		h.log.Info("new series", "sender", r.Sender, "series", n, "last", r.Path)
	}
}
