package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/graph"
	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// graph answers the request for a graph. What costs little comes first: the arguments, the limits,
// and whether the client has the picture already. Only then the request waits for its place.
func (s *Server) graph(w http.ResponseWriter, r *http.Request, format string) {
	_, picture := pictures[format]
	kind, number := numbers[format]
	if picture {
		kind = pictures[format].kind
	} else if !number {
		http.Error(w, "a graph ends in .svg, .png, .pdf, .eps, .json, .xml, .csv, .tsv or .ssv.", http.StatusNotFound)
		return
	}
	d, err := s.prepare(r.Context(), format, r.URL.RawQuery)
	if err != nil {
		s.counts.failed.Add(1)
		fail(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	// A picture that somebody opens by itself runs nothing and loads nothing. Its texts have
	// style attributes.
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("Cache-Control", fmt.Sprintf("max-age=%d", int64(d.fresh/time.Second)))
	h.Set("ETag", d.tag)
	if hasTag(r.Header.Values("If-None-Match"), d.tag) {
		s.counts.unchanged.Add(1)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	data, err := s.picture(r.Context(), d, sockets.ClientOf(r.RemoteAddr))
	switch {
	case errors.Is(err, errBusy):
		s.counts.busy.Add(1)
	case err != nil:
		s.counts.failed.Add(1)
	}
	if err != nil {
		fail(w, err)
		return
	}
	send(w, r, data, d.tag)
}

// prepare reads the address of a graph, checks its limits and names the picture. The present is
// rounded down to a pixel of the graph, so that all who ask within that time see the same picture.
func (s *Server) prepare(ctx context.Context, format, query string) (*prepared, error) {
	q, err := s.ask(access.From(ctx), format, query)
	if err != nil {
		return nil, err
	}
	now, rounded, pixel := s.Now(), time.Time{}, int64(0)
	sketch, err := s.sketch(q, now, func(o *graph.Options) time.Time {
		pixel = pixelOf(o)
		rounded = now.Add(-time.Duration(now.Unix()%pixel) * time.Second).Truncate(time.Second)
		return rounded
	})
	if err != nil {
		return nil, err
	}
	readings, err := sketch.Readings(ctx, source{access.Of(ctx, s.Store), s.Store})
	if err != nil {
		return nil, err
	}
	d := &prepared{question: q, sketch: sketch}
	if d.values, err = volume(readings); err != nil {
		return nil, err
	}
	d.tag = s.tagOf(d, rounded, readings)
	d.fresh = min(rounded.Add(time.Duration(pixel)*time.Second).Sub(now), maxFresh)
	return d, nil
}

// maxFresh is how long a browser may show a picture without asking again.
const maxFresh = 5 * time.Minute

// pixelOf returns how many seconds a pixel of a graph is wide.
func pixelOf(o *graph.Options) int64 {
	return max(1, (o.End-o.Start)/int64(max(o.Width, 1)))
}

// volume returns how many values are read for some readings, and kept by their DEFs. Rows that
// several DEFs need are counted once, but each DEF keeps its own. Rows that the archives do not
// hold are unknown without being read, so that a year of a series that keeps a day costs little.
func volume(readings []graphdata.Reading) (n int64, err error) {
	type read struct {
		ref        core.Ref
		archive    int
		start, end int64
	}
	seen, kept := map[read]bool{}, int64(0)
	all := int64(0)
	for _, r := range readings {
		kept += min(r.Kept, maxRead+1) // so that the sum fits
		if r.Plan == nil {
			continue
		}
		k := read{r.Ref, r.Plan.Archive, r.Plan.Start, r.Plan.End}
		if seen[k] {
			continue
		}
		seen[k] = true
		wide := int64(max(1, len(r.Plan.DS)))
		if all += r.Plan.Rows() * wide; r.Plan.Rows() > maxSpanned || all > maxSpanned {
			return 0, wrong("the graph spans %d rows or more, at most %d are possible: ask for a shorter time, or for fewer series", max(all, r.Plan.Rows()), maxSpanned)
		}
		from, to := r.Plan.Held()
		if n += max(0, (to-from)/r.Plan.Step) * wide; n > maxRead {
			return 0, wrong("the graph reads %d values or more, at most %d are possible: ask for a shorter time, or for fewer series", n, maxRead)
		}
	}
	if kept > maxRead {
		return 0, wrong("the graph keeps %d values of its DEFs, at most %d are possible: ask for a shorter time, or for fewer DEFs", kept, maxRead)
	}
	return n + kept, nil
}

// turn waits until a graph of client may be drawn, or ctx ends. Call end when it is drawn. The
// error is errBusy, or ctx's if the client has gone.
func (s *Server) turn(ctx context.Context, client string) (end func(), err error) {
	switch {
	case s.drawing.Wait(ctx, client, 1, maxTime):
		return func() { s.drawing.Give(client, 1) }, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	}
	return nil, errBusy
}

// picture returns the body of the answer: one that was drawn for somebody else, or a new one.
func (s *Server) picture(ctx context.Context, d *prepared, client string) ([]byte, error) {
	if data := s.gallery.get(d.tag); data != nil {
		s.counts.kept.Add(1)
		return data, nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	end, err := s.turn(ctx, client)
	if err != nil {
		return nil, err
	}
	defer end()
	if data := s.gallery.get(d.tag); data != nil { // it was drawn meanwhile
		s.counts.kept.Add(1)
		return data, nil
	}
	account := limit.Of(ctx)
	if err := account.Charge(8 * d.values); err != nil {
		return nil, err
	}
	began := time.Now()
	data, err := s.draw(ctx, d)
	if err != nil {
		return nil, err
	}
	s.counts.drawn.Add(1)
	s.counts.seconds.Observe(time.Since(began))
	s.gallery.put(d.tag, data)
	return data, account.Charge(int64(len(data)))
}

func (s *Server) draw(ctx context.Context, d *prepared) ([]byte, error) {
	if _, ok := pictures[d.format]; ok {
		return d.sketch.Draw(ctx, source{access.Of(ctx, s.Store), s.Store}, rrdtool.Most{Pixels: maxPixels, Bytes: maxBytes})
	}
	p, err := d.sketch.Columns(ctx, source{access.Of(ctx, s.Store), s.Store})
	if err != nil {
		return nil, err
	}
	return columns(ctx, d.format, p)
}

// A source finds the series of the database, and nothing else: no file of this machine, and no
// other server. view is the store as the sender of the request sees it.
type source struct {
	view  access.View
	store core.Engine
}

// Open finds the series that a DEF names.
func (s source) Open(_ context.Context, name, daemon string) (query.Store, core.Ref, error) {
	if daemon != "" {
		return nil, 0, wrong("this server does not ask others: daemon= is for the command line")
	}
	path, err := rrdtool.Path("", "", name)
	if err != nil {
		return nil, 0, wrong("%.200q names no series", name)
	}
	ref, err := s.view.Lookup(strings.TrimPrefix(path, "/"))
	if errors.Is(err, core.ErrNotFound) {
		err = fmt.Errorf("%w: %.200q (a graph over HTTP shows series of the database, and no files)", core.ErrNotFound, name)
	}
	return core.Simple{Engine: s.store}, ref, err
}
