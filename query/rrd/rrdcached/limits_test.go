package rrdcached

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/internal/limit"
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

// TestAnswersHaveRoom: one address has a quarter of the room, TCP a half, and an answer that is
// larger than its share is alone in it.
func TestAnswersHaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{answers: newAnswers(80 * freeAnswer)}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		charge := func(ctx context.Context, host string, n int64) (*conn, error) {
			c := &conn{s: s, ctx: ctx, host: host}
			return c, c.charge(n * freeAnswer)
		}
		var held []*conn
		try := func(host string, n int64, want bool) {
			t.Helper()
			c, err := charge(over, host, n)
			if (err == nil) != want || err != nil && !errors.Is(err, errRoom) {
				t.Errorf("%d for %s: %v", n, host, err)
			}
			held = append(held, c)
		}
		try("a", 10, true)
		try("a", 11, false)
		try("a", 10, true)
		try("b", 21, false)
		try("b", 20, true)
		try("c", 2, false)
		try(sockets.Local, 500, true) // and no more
		try(sockets.Local, 2, false)
		taken := make(chan error)
		go func() {
			c, err := charge(t.Context(), "b", 2)
			c.uncharge()
			taken <- err
		}()
		synctest.Wait()
		for _, c := range held {
			c.uncharge()
		}
		if err := <-taken; err != nil {
			t.Error(err)
		}
		try("a", 500, true) // alone
		try("b", 2, false)
		held[len(held)-2].uncharge()
		if n := s.answers.local.Used() + s.answers.tcp.Used(); n != 0 {
			t.Errorf("%d bytes are left", n)
		}
	})
}

// TestTurns: eight requests hold a series at a time, one of them a large one. Who waits for too
// long is refused, and holds nothing.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{turns: limit.New(maxTurns, maxTurns)}
		take := func(large bool) func() {
			t.Helper()
			end, err := s.turn(t.Context(), sockets.Local, large)
			if err != nil {
				t.Fatal(err)
			}
			return end
		}
		refused := func(large bool) {
			t.Helper()
			if _, err := s.turn(t.Context(), sockets.Local, large); !errors.Is(err, errTurns) {
				t.Errorf("one too many: %v", err)
			}
		}
		ends := []func(){take(true)}
		refused(true)
		for range maxTurns - largeTurn {
			ends = append(ends, take(false))
		}
		refused(false)
		for _, end := range ends {
			end()
		}
		for range maxTurns {
			defer take(false)()
		}
		refused(false)
	})
}
