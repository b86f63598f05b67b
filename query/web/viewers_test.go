package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/rra"
)

// TestViewersBesideAppends: while many look at graphs, each at another one, every sample is stored.
// A viewer gets its graph, or is asked to come again.
func TestViewersBesideAppends(t *testing.T) {
	s, store, ref, c := newGraphs(t)
	const viewers, looks, batches = 120, 4, 40
	c.at = begin + 3600 + batches*10
	var wg sync.WaitGroup
	var busy, drawn atomic.Int64
	for v := range viewers {
		wg.Go(func() {
			for i := range looks {
				w := httptest.NewRecorder()
				r := httptest.NewRequest("GET", address("svg", append([]string{"width", fmt.Sprint(100 + v*looks + i)}, usual...)...), nil)
				r.RemoteAddr = fmt.Sprintf("10.0.0.%d:1", v%20)
				s.ServeHTTP(w, r)
				switch {
				case w.Code == http.StatusOK:
					drawn.Add(1)
				case w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") != "":
					busy.Add(1)
				default:
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range batches {
			var b core.Batch
			b.Add(ref, rra.Time((begin+3610+int64(i)*10)*1e6), rra.Float(1), rra.Float(2))
			if err := store.Append(t.Context(), &b); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	st := s.Stats()
	if drawn.Load() == 0 || drawn.Load()+busy.Load() != viewers*looks || st.Drawn+st.Kept != uint64(drawn.Load()) || st.Busy != uint64(busy.Load()) || st.Waiting != 0 {
		t.Errorf("%d drawn, %d busy, counts %+v", drawn.Load(), busy.Load(), st)
	}
	if last, err := store.Last(ref); err != nil || last != rra.Time((begin+3600+batches*10)*1e6) {
		t.Errorf("the last sample is at %v: %v", last, err)
	}
}

// TestViewersWhileThingsChange: dashboards are saved and dropped, and series made and dropped,
// while many look at both. A viewer gets a graph, or gets an error that names what is gone.
func TestViewersWhileThingsChange(t *testing.T) {
	s, path := newPlain(t)
	pages := s.Pages.(*dashboards.Folder)
	const rounds = 30
	text := "title: x\ngraph: x\nDEF:a=net/eth1:in:AVERAGE\nLINE:a#ff0000:in\n"
	var viewers, changes sync.WaitGroup
	ended := make(chan struct{})
	for v := range 12 {
		viewers.Go(func() {
			targets := []string{
				"/graph.svg?dashboard=moving&from=-1h", "/graph.csv?arg=DEF:a=net/eth1:in:AVERAGE&arg=LINE:a&from=-1h", "/dashboard/moving", "/", "/host/net", "/series/" + segments(path),
			}
			for i := v; ; i++ {
				select {
				case <-ended:
					return
				default:
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, httptest.NewRequest("GET", targets[i%len(targets)], nil))
				if w.Code == http.StatusInternalServerError {
					t.Errorf("%s: %d %s", targets[i%len(targets)], w.Code, w.Body)
				}
			}
		})
	}
	changes.Go(func() {
		for range rounds {
			if err := pages.Save(t.Context(), "moving", text); err != nil {
				t.Error(err)
			}
			if err := pages.Drop(t.Context(), "moving"); err != nil {
				t.Error(err)
			}
		}
	})
	changes.Go(func() {
		for range rounds {
			ref := create(t, s.Store.(*core.Store), "net/eth1")
			fill(t, s.Store.(*core.Store), ref, begin, begin+3600)
			if err := core.Drop(t.Context(), s.Store, "net/eth1"); err != nil {
				t.Error(err)
			}
		}
	})
	changes.Wait()
	close(ended)
	viewers.Wait()
	if n := s.Stats().Waiting; n != 0 {
		t.Errorf("%d are still waiting", n)
	}
}

// TestGoneViewerIsNotDrawnFor: the end of the request's context ends the drawing.
func TestGoneViewerIsNotDrawnFor(t *testing.T) {
	s, _, _, _ := newGraphs(t)
	r := httptest.NewRequest("GET", address("png", usual...), nil)
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r.WithContext(ctx))
	if st := s.Stats(); w.Code == http.StatusOK || st.Drawn != 0 || st.Waiting != 0 {
		t.Errorf("status %d, counts %+v", w.Code, st)
	}
}
