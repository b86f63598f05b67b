package server

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A logLines is a log that passes its lines on.
type logLines chan string

func (l logLines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestStoppingSaysWhatItWaitsFor: what takes long at the end of a server stands in the log by name,
// and what has ended does not.
func TestStoppingSaysWhatItWaitsFor(t *testing.T) {
	log := make(logLines, 100)
	w := newWaits(slog.New(slog.NewTextHandler(log, nil)))
	w.first, w.next = time.Millisecond, time.Millisecond
	one, two := make(chan struct{}), make(chan struct{})
	w.run("one", func() { <-one })
	w.run("two", func() { <-two })
	done := make(chan struct{})
	go func() {
		w.wait()
		close(done)
	}()
	want := func(what string) {
		t.Helper()
		for {
			select {
			case line := <-log:
				if strings.Contains(line, what) {
					return
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("no line says %s", what)
			}
		}
	}
	want(`waits_for="one, two"`)
	close(one)
	want("waits_for=two")
	close(two)
	for {
		select {
		case <-log:
			continue
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("it does not end")
		}
		return
	}
}
