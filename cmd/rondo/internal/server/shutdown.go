package server

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
)

// How long the end of a server may take before the log says what it waits for, and how often the
// log then repeats that.
const (
	firstWait = time.Second
	nextWait  = 5 * time.Second
)

// waits ends the parts of a server, all at the same time, and logs which of them it waits for.
type waits struct {
	log         *slog.Logger
	first, next time.Duration
	began       time.Time
	running     sync.WaitGroup

	mu   sync.Mutex // guards left
	left []string
}

func newWaits(log *slog.Logger) *waits {
	return &waits{log: log, first: firstWait, next: nextWait, began: time.Now()}
}

// run starts the function end. The log calls it name.
func (w *waits) run(name string, end func()) {
	w.mu.Lock()
	w.left = append(w.left, name)
	w.mu.Unlock()
	w.running.Go(func() {
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.left = slices.Delete(w.left, slices.Index(w.left, name), slices.Index(w.left, name)+1)
		}()
		end()
	})
}

// wait returns when all functions have returned.
func (w *waits) wait() {
	ctx, ended := context.WithCancel(context.Background())
	var telling sync.WaitGroup
	telling.Go(func() {
		for d := w.first; sleep.For(ctx, d) == nil; d = w.next {
			w.mu.Lock()
			left := strings.Join(w.left, ", ")
			w.mu.Unlock()
			w.log.Info("still stopping", "waits_for", left, "since", time.Since(w.began).Round(100*time.Millisecond))
		}
	})
	w.running.Wait()
	ended()
	telling.Wait()
}
