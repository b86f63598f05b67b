package rrdcached

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
)

// TestPatience: a peer that reads slowly on the whole is given up, in however many writes it is
// sent its answer.
func TestPatience(t *testing.T) {
	const most = 30 * time.Second
	for _, tt := range []struct {
		name   string
		rate   int // bytes a second that the peer reads
		writes int // of 64 KiB, until it is given up; 0: never
	}{
		{"half of what it must", readRate / 2, 30},
		{"a fraction", readRate / 16, 2},
		{"just what it must", readRate, 0},
		{"fast", 1 << 30, 0},
	} {
		left, writes := most, 0
		for ; left > 0 && writes < 1000; writes++ {
			left = patienceAfter(left, most, time.Duration(answerBytes)*time.Second/time.Duration(tt.rate), answerBytes)
		}
		if tt.writes == 0 && left <= 0 || tt.writes > 0 && writes != tt.writes || left > most {
			t.Errorf("%s: given up after %d writes with %v left", tt.name, writes, left)
		}
	}
}

// TestRoom: one address has a quarter of the room, TCP a half, and an answer that is larger than
// its share is alone in it.
func TestRoom(t *testing.T) {
	r := newRoom(1000)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	try := func(peer string, n int64, want bool) {
		t.Helper()
		if ok, _ := r.try(peer, n); ok != want {
			t.Errorf("%d bytes for %s: %v", n, peer, ok)
		}
	}
	try("a", 100, true)
	try("a", 151, false)
	try("a", 150, true)
	try("b", 5000, true)
	try("c", 1, false)
	if err := r.wait(over, "c", 1); !errors.Is(err, errRoom) {
		t.Errorf("take: %v", err)
	}
	try(sockets.Local, 501, false)
	try(sockets.Local, 500, true)
	taken := make(chan error)
	go func() { taken <- r.wait(t.Context(), "b", 20) }()
	r.give("b", 5000)
	if err := <-taken; err != nil {
		t.Error(err)
	}
	r.give("a", 250)
	r.give("b", 20)
	r.give(sockets.Local, 500)
	if r.all != 0 || r.tcp != 0 || len(r.byHost) != 0 {
		t.Errorf("left: %d, %d of TCP, %v", r.all, r.tcp, r.byHost)
	}
}
