package sink

import (
	"log/slog"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/receivers"
)

// maxHeard bounds the senders that a heard tells apart. Beyond it nothing is logged of new ones.
const maxHeard = 1 << 16

// A heard logs who begins to send, and which series are made for whom.
type heard struct {
	log   *slog.Logger
	now   func() time.Time
	fresh loglimit.Limit[string] // lines of new series, by sender

	mu      sync.Mutex // guards what follows
	senders map[string]*fresh
}

// A fresh counts the series that were made for a sender since that was last logged.
type fresh struct{ series int }

// from logs a sender that was not heard before, with the first path it sends.
func (h *heard) from(r *receivers.Request) {
	h.mu.Lock()
	_, known := h.senders[r.Sender]
	full := len(h.senders) >= maxHeard
	if !known && !full {
		if h.senders == nil {
			h.senders = make(map[string]*fresh)
		}
		h.senders[r.Sender] = new(fresh)
	}
	h.mu.Unlock()
	if !known && !full {
		h.log.Info("a sender has begun to send", "sender", r.Sender, "first", r.Path)
	}
}

// made logs that n series were made for a sender, the last of which is r's: at most one line a
// sender and minute.
func (h *heard) made(r *receivers.Request, n int) {
	h.mu.Lock()
	f := h.senders[r.Sender]
	if f == nil {
		h.mu.Unlock()
		return
	}
	f.series += n
	n = f.series
	ok, _ := h.fresh.Allow(r.Sender, h.now())
	if ok {
		f.series = 0
	}
	h.mu.Unlock()
	if ok {
		h.log.Info("new series", "sender", r.Sender, "series", n, "last", r.Path)
	}
}
