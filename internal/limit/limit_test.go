package limit

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// queue makes clients wait for n each, one after the other, and returns who has got it, in order.
func queue(t *testing.T, l *Limit, n int64, clients ...string) <-chan string {
	got := make(chan string, len(clients))
	for _, client := range clients {
		go func() {
			if l.Wait(t.Context(), client, n, time.Hour) {
				got <- client
			}
		}()
		synctest.Wait()
	}
	return got
}

// want checks that a client, and no other, has got what it waits for.
func want(t *testing.T, got <-chan string, client string) {
	t.Helper()
	synctest.Wait()
	if len(got) != 1 {
		t.Fatalf("%d have got what they wait for, want %s", len(got), client)
	}
	if c := <-got; c != client {
		t.Fatalf("%s has got it, want %s", c, client)
	}
}

func empty(t *testing.T, l *Limit) {
	t.Helper()
	if l.Used() != 0 || l.Waiting() != 0 || len(l.clients) != 0 {
		t.Errorf("at the end %d are taken, %d wait, of %d clients", l.Used(), l.Waiting(), len(l.clients))
	}
}

// TestClientsTakeTurns: a client with many requests in the queue does not go first with all of
// them.
func TestClientsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 1)
		if !l.Take("greedy", 1) {
			t.Fatal("nothing is free")
		}
		got := queue(t, l, 1, "greedy", "greedy", "greedy", "modest")
		for _, turn := range [][2]string{{"greedy", "modest"}, {"modest", "greedy"}, {"greedy", "greedy"}, {"greedy", "greedy"}} {
			l.Give(turn[0], 1)
			want(t, got, turn[1])
		}
		l.Give("greedy", 1)
		empty(t, l)
	})
}

// TestShare: who waits for their own share keeps nobody else waiting.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(3, 2)
		if !l.Take("a", 2) || l.Take("a", 1) {
			t.Fatal("a client has less than its share, or more")
		}
		got := queue(t, l, 1, "a", "b")
		want(t, got, "b")
		got = queue(t, l, 1, "c")
		l.Give("b", 1)
		want(t, got, "c")
		l.Give("a", 1)
		synctest.Wait()
		if l.Used() != 3 || l.Waiting() != 0 {
			t.Errorf("%d are taken, %d wait", l.Used(), l.Waiting())
		}
		if l.Wait(t.Context(), "d", 1, time.Second) {
			t.Error("got what is not free")
		}
		for _, client := range []string{"a", "a", "c"} {
			l.Give(client, 1)
		}
		empty(t, l)
	})
}

// TestLargePieces: a client that holds nothing may take more than its share, and who waits for much
// is not passed by those who want little.
func TestLargePieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(8, 4)
		if !l.Take("a", 1) || l.Take("a", 5) || !l.Take("b", 6) || l.Take("b", 1) || l.Take("c", 9) {
			t.Fatal("the share counts where it must not, or does not where it must")
		}
		if !l.Take("e", 0) || !l.Take("b", 0) {
			t.Error("nothing is too much")
		}
		l.Give("e", 0)
		if l.Wait(t.Context(), "c", 9, Forever) {
			t.Error("got more than there is")
		}
		got := queue(t, l, 5, "c")
		if l.Take("d", 1) {
			t.Error("passed one who waits")
		}
		l.Give("a", 1)
		l.Give("b", 6)
		want(t, got, "c")
		if !l.Take("d", 1) {
			t.Error("nothing is free for another")
		}
		l.Give("c", 5)
		l.Give("d", 1)
		empty(t, l)
	})
}

// TestWhoGoesLeavesNothing: who gives up waiting holds nothing, and keeps nobody waiting.
func TestWhoGoesLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(4, 4)
		l.Take("a", 2)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { ended <- l.Wait(ctx, "b", 3, Forever) }()
		synctest.Wait()
		got := queue(t, l, 2, "c")
		cancel()
		if <-ended {
			t.Error("got what is not free")
		}
		want(t, got, "c")
		if l.Wait(t.Context(), "b", 1, 0) || l.Wait(t.Context(), "b", 1, time.Second) {
			t.Error("got what is not free")
		}
		l.Give("a", 2)
		l.Give("c", 2)
		empty(t, l)
	})
}

// TestManyClients: whatever clients do, no more is taken than there is, nothing is lost, and all
// who wait are served in the end.
func TestManyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(10, 6)
		done := make(chan struct{})
		const clients, each = 7, 40
		for c := range clients {
			for i := range each {
				go func() {
					n := int64(1 + (c+i)%7)
					if !l.Wait(t.Context(), fmt.Sprint(c), n, Forever) {
						t.Error("waited in vain")
					}
					if l.Used() > 10 {
						t.Errorf("%d are taken", l.Used())
					}
					time.Sleep(time.Duration(1+i%5) * time.Millisecond)
					l.Give(fmt.Sprint(c), n)
					done <- struct{}{}
				}()
			}
		}
		for range clients * each {
			<-done
		}
		empty(t, l)
	})
}

func TestAccount(t *testing.T) {
	l := New(100, 60)
	one, two := l.Open("a"), l.Open("a")
	if err := one.Charge(50); err != nil {
		t.Fatal(err)
	}
	if err := two.Charge(11); !errors.Is(err, ErrMemory) {
		t.Errorf("beyond the share of a client: %v", err)
	}
	other := Of(With(t.Context(), l.Open("b"))).Another()
	if err := other.Charge(50); err != nil {
		t.Errorf("another client: %v", err)
	}
	if err := l.Open("c").Charge(1); !errors.Is(err, ErrMemory) {
		t.Errorf("beyond the whole: %v", err)
	}
	one.Close()
	one.Close()
	other.Close()
	empty(t, l)
	none := Of(t.Context()).Another()
	if err := none.Charge(1 << 60); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	none.Close()
}
