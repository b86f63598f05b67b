package room

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRoomTakesTurns: a client with many requests in the queue does not go first with all of them.
func TestRoomTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(1, 1)
		if !r.Enter(t.Context(), "greedy", 0) {
			t.Fatal("no place in an empty room")
		}
		got := make(chan string, 8)
		for _, client := range []string{"greedy", "greedy", "greedy", "modest"} {
			go func() {
				if r.Enter(t.Context(), client, time.Hour) {
					got <- client
				}
			}()
			synctest.Wait()
		}
		for _, turn := range [][2]string{{"greedy", "modest"}, {"modest", "greedy"}, {"greedy", "greedy"}, {"greedy", "greedy"}} {
			r.Leave(turn[0])
			synctest.Wait()
			if len(got) != 1 {
				t.Fatalf("after %s: %d have a place", turn[0], len(got))
			}
			if client := <-got; client != turn[1] {
				t.Errorf("after %s: %s has the place, want %s", turn[0], client, turn[1])
			}
		}
		r.Leave("greedy")
	})
}

func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(3, 2)
		ctx := t.Context()
		for range 2 {
			if !r.Enter(ctx, "a", 0) {
				t.Fatal("no place in an empty room")
			}
		}
		if r.Enter(ctx, "a", 0) {
			t.Error("a client has more than its share")
		}
		got := make(chan string, 3)
		wait := func(client string) {
			go func() {
				if r.Enter(ctx, client, time.Hour) {
					got <- client
				}
			}()
			synctest.Wait()
		}
		wait("a") // waits for its own place, and is passed by
		wait("b")
		if len(got) != 1 || <-got != "b" {
			t.Fatal("a client at its share keeps another from a free place")
		}
		wait("c")
		r.Leave("b")
		synctest.Wait()
		if len(got) != 1 || <-got != "c" {
			t.Error("a place that became free was not given to the client that may have it")
		}
		r.Leave("a")
		synctest.Wait()
		if len(got) != 1 || <-got != "a" {
			t.Error("the first who waited has no place")
		}
		if r.Enter(ctx, "d", time.Second) {
			t.Error("a place in a full room")
		}
		for _, client := range []string{"a", "a", "c"} {
			r.Leave(client)
		}
		if r.Inside() != 0 || len(r.clients) != 0 || len(r.waiting) != 0 {
			t.Errorf("the room is not empty: %d, %v, %d wait", r.taken, r.clients, len(r.waiting))
		}
	})
}
