package web

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/internal/limit"
)

// TestGraphsWaitForTheirTurn: a graph for which no place becomes free is refused, a client that
// goes away leaves the queue, and one with many graphs lets another go before them.
func TestGraphsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{drawing: limit.New(1, 1)}
		end, err := s.turn(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		late, cancel := context.WithTimeout(t.Context(), maxTime)
		defer cancel()
		if _, err := s.turn(late, "b"); !errors.Is(err, errBusy) {
			t.Errorf("after its time: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := s.turn(gone, "b"); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that has gone: %v", err)
		}
		drawn := make(chan string, 3)
		for _, client := range []string{"a", "a", "b"} {
			go func() {
				if end, err := s.turn(t.Context(), client); err == nil {
					drawn <- client
					end()
				}
			}()
			synctest.Wait()
		}
		end()
		if first := <-drawn; first != "b" || <-drawn != "a" || <-drawn != "a" {
			t.Errorf("the first is %s", first)
		}
		synctest.Wait()
		if s.drawing.Used() != 0 || s.drawing.Waiting() != 0 {
			t.Error("a place is still taken")
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
