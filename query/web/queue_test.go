package web

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

// TestQueueIsBounded: a graph that finds the queue full is refused at once, a client has a share of
// it, and a client that goes away leaves the queue.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		leave, err := q.enter(t.Context(), "first")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, maxWaiting)
		for i := range maxWaiting - 1 {
			go func() {
				_, err := q.enter(ctx, fmt.Sprint("client", i/(maxClientWaiting-1)))
				ended <- err
			}()
		}
		synctest.Wait()
		if _, err := q.enter(t.Context(), "another"); !errors.Is(err, errBusy) {
			t.Errorf("a full queue takes another: %v", err)
		}
		cancel()
		for range maxWaiting - 1 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("a client that has gone: %v", err)
			}
		}
		if n := q.waiting.Inside(); n != 1 {
			t.Errorf("%d wait, want the one that is drawn", n)
		}
		for range maxClientWaiting {
			go func() {
				if leave, err := q.enter(t.Context(), "greedy"); err == nil {
					leave()
				}
			}()
		}
		synctest.Wait()
		if _, err := q.enter(t.Context(), "greedy"); !errors.Is(err, errBusy) {
			t.Errorf("a client has more than its share: %v", err)
		}
		leave()
		synctest.Wait()
		if n := q.waiting.Inside() + q.drawing.Inside(); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// TestQueueGivesUp: a graph that no place becomes free for is told so.
func TestQueueGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		leave, err := q.enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		ctx, cancel := context.WithTimeout(t.Context(), maxTime)
		defer cancel()
		if _, err := q.enter(ctx, "b"); !errors.Is(err, errBusy) {
			t.Errorf("got %v", err)
		}
	})
}

func TestGalleryForgets(t *testing.T) {
	g := newGallery()
	big := make([]byte, galleryPicture)
	for i := range galleryBytes/galleryPicture + 2 {
		g.put(fmt.Sprint(i), big)
		g.get("0")
	}
	g.put("too big", make([]byte, galleryPicture+1))
	if g.get("0") == nil || g.get("1") != nil || g.get("too big") != nil || g.bytes > galleryBytes || len(g.pictures) != g.order.Len() {
		t.Errorf("%d bytes, %d pictures", g.bytes, len(g.pictures))
	}
}
