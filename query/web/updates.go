package web

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/rra"
)

// updates answers a request for UpdatesPath: the newest rows of the series of rrdd plugins.
func (s *Server) updates(w http.ResponseWriter, r *http.Request) {
	body, kind, err := s.recent(r)
	if err != nil {
		if errors.Is(err, errBusy) {
			s.counts.busy.Add(1)
		} else {
			s.counts.failed.Add(1)
		}
		fail(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone
	}
}

func (s *Server) recent(r *http.Request) (body []byte, kind string, err error) {
	q, err := updatesOf(r.URL.RawQuery)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	end, err := s.turn(ctx, sockets.ClientOf(r.RemoteAddr))
	if err != nil {
		return nil, "", err
	}
	defer end()
	began := time.Now()
	e := &export{store: s.Store, view: access.Of(ctx, s.Store), ask: q}
	if err := e.find(ctx); err != nil {
		return nil, "", err
	}
	if err := limit.Of(ctx).Charge(40 * e.values()); err != nil {
		return nil, "", err
	}
	if err := e.read(ctx); err != nil {
		return nil, "", err
	}
	s.counts.drawn.Add(1)
	s.counts.seconds.Observe(time.Since(began))
	if q.json {
		return e.json(), "application/json", ctx.Err()
	}
	return e.xml(), "text/xml; charset=utf-8", ctx.Err()
}

// An updatesQuery is what a request for UpdatesPath asks for.
type updatesQuery struct {
	start    int64   // seconds since 1970; below zero: before the newest sample
	interval int64   // seconds a row, at least
	cf       *rra.CF // nil: every function
	host     bool    // the host's own data sources, too
	hostUUID string
	vm, sr   string // a UUID, all or none
	json     bool
}

// noHost is the UUID of the host in legends if the request names none.
const noHost = "00000000-0000-0000-0000-000000000000"

func updatesOf(query string) (*updatesQuery, error) {
	v, err := url.ParseQuery(query)
	if err != nil {
		return nil, wrong("the query is malformed: %w", err)
	}
	q := &updatesQuery{host: v.Get("host") == "true", json: v.Get("json") == "true", vm: "all", sr: "none", hostUUID: noHost}
	if q.start, err = strconv.ParseInt(v.Get("start"), 10, 64); err != nil || q.start > math.MaxInt64/4 || q.start < -math.MaxInt64/4 {
		return nil, wrong("start %.50q: want seconds since 1970, or, below zero, seconds before the newest sample", v.Get("start"))
	}
	if text := v.Get("interval"); text != "" {
		if q.interval, err = strconv.ParseInt(text, 10, 64); err != nil || q.interval < 0 {
			return nil, wrong("interval %.50q: want seconds", text)
		}
	}
	if text := v.Get("cf"); text != "" {
		cf, err := rra.ParseCF(strings.ToUpper(text))
		if err != nil {
			return nil, wrong("cf: %w", err)
		}
		q.cf = &cf
	}
	for key, to := range map[string]*string{"host_uuid": &q.hostUUID, "vm_uuid": &q.vm, "sr_uuid": &q.sr} {
		if text := v.Get(key); text != "" {
			if err := checkText(text); err != nil {
				return nil, wrong("%s %w", key, err)
			}
			*to = clean(text)
		}
	}
	return q, nil
}

// wants reports whether the data sources of an owner are asked for.
func (q *updatesQuery) wants(owner, uuid string) bool {
	one := func(want string) bool { return want == "all" || want == uuid }
	switch owner {
	case "host":
		return q.host
	case "vm":
		return one(q.vm)
	case "sr":
		return one(q.sr)
	}
	return false
}

// An export is the answer to an updatesQuery: the rows of one length of all series that have it.
type export struct {
	store core.Engine
	view  access.View // the store as the sender of the request sees it
	ask   *updatesQuery

	step, rows int64 // of a row, in seconds; of the archives
	start, end int64 // the rows end at start, start+step and so on, up to end
	columns    []column
	data       []float64 // column by column, the oldest row first
}

// A column is one archive of a data source.
type column struct {
	ref     core.Ref
	archive int
	legend  string
}

// owned splits the path of a series of a plugin: rrdd/PLUGIN/host/NAME, rrdd/PLUGIN/vm/UUID/NAME
// or rrdd/PLUGIN/sr/UUID/NAME.
func owned(path string) (owner, uuid, name string, ok bool) {
	parts := strings.Split(path, "/")
	switch {
	case len(parts) == 4 && parts[0] == "rrdd" && parts[2] == "host":
		return "host", "", parts[3], true
	case len(parts) == 5 && parts[0] == "rrdd" && (parts[2] == "vm" || parts[2] == "sr"):
		return parts[2], parts[3], parts[4], true
	}
	return "", "", "", false
}

// find finds the series and the archives. As in the daemon, the first series that has an archive
// decides the length of the rows, and series with other archives are left out.
func (e *export) find(ctx context.Context) error {
	var all []core.Series
	var names [][3]string
	newest := int64(math.MinInt64)
	for x, err := range e.view.Select(ctx, core.Query{Prefix: "rrdd/", Order: core.ByPath}) {
		if err != nil {
			return err
		}
		owner, uuid, name, ok := owned(x.Path)
		if !ok || !e.ask.wants(owner, uuid) || x.Definition == nil || len(x.Definition.Sources) != 1 {
			continue
		}
		last, err := core.Last(ctx, e.store, x.Ref)
		if errors.Is(err, core.ErrNotFound) {
			continue // it was dropped meanwhile
		}
		if err != nil {
			return err
		}
		if owner == "host" {
			uuid = e.ask.hostUUID
		}
		if all = append(all, x); len(all) > maxColumns {
			return wrong("more than %d data sources: ask for one vm_uuid or sr_uuid", maxColumns)
		}
		names = append(names, [3]string{owner, uuid, name})
		newest = max(newest, last.Unix())
	}
	start := e.ask.start
	if start < 0 {
		start += newest
	}
	for i, x := range all {
		e.add(x, strings.Join(names[i][:], ":"), start, newest)
	}
	if len(e.columns) == 0 {
		e.step = 1
		return nil
	}
	e.end = newest - newest%e.step
	oldest := e.end - e.step*(e.rows-1)
	if e.start = oldest; start > oldest {
		e.start += (start - oldest + e.step - 1) / e.step * e.step
	}
	if n := e.values(); n > maxSent {
		return wrong("the answer has %d values, at most %d are possible: ask for a later start, or a longer interval", n, maxSent)
	}
	return nil
}

// maxColumns is how many data sources one answer has.
const maxColumns = 20_000

// add adds the columns of one series.
func (e *export) add(x core.Series, legend string, start, newest int64) {
	d := x.Definition
	for _, cf := range []rra.CF{rra.Average, rra.Min, rra.Max, rra.Last} {
		if e.ask.cf != nil && *e.ask.cf != cf {
			continue
		}
		i := archiveOf(d, cf, e.ask.interval, start, newest)
		if i < 0 {
			continue
		}
		a := &d.Archives[i]
		if len(e.columns) == 0 {
			e.step, e.rows = d.Step*a.PDPs, a.Rows
		}
		if d.Step*a.PDPs == e.step && a.Rows == e.rows {
			e.columns = append(e.columns, column{x.Ref, i, cf.String() + ":" + legend})
		}
	}
}

// archiveOf returns the archive of a function whose rows are at least interval seconds long and
// reach back to start: the finest, or else the longest. It returns -1 if no archive has the
// function.
func archiveOf(d *rra.Definition, cf rra.CF, interval, start, newest int64) int {
	var of []int
	for i := range d.Archives {
		if d.Archives[i].CF == cf {
			of = append(of, i)
		}
	}
	slices.SortStableFunc(of, func(i, k int) int { return int(d.Archives[i].PDPs - d.Archives[k].PDPs) })
	for _, i := range of {
		if from, _ := d.Window(i, newest); d.Step*d.Archives[i].PDPs >= interval && from <= start {
			return i
		}
	}
	if len(of) == 0 {
		return -1
	}
	return of[len(of)-1]
}

// height is the number of rows.
func (e *export) height() int64 {
	if e.end < e.start || len(e.columns) == 0 {
		return 0
	}
	return (e.end-e.start)/e.step + 1
}

func (e *export) values() int64 { return e.height() * int64(len(e.columns)) }

// read reads all columns. The series of an archive are read together.
func (e *export) read(ctx context.Context) error {
	height := e.height()
	e.data = slices.Repeat([]float64{math.NaN()}, int(e.values()))
	if height == 0 {
		return nil
	}
	byArchive := map[int][]int{}
	for i, c := range e.columns {
		byArchive[c.archive] = append(byArchive[c.archive], i)
	}
	for archive, of := range byArchive {
		refs := make([]core.Ref, len(of))
		for k, i := range of {
			refs[k] = e.columns[i].ref
		}
		var failed error
		// The function gets the errors.
		_ = e.store.FetchMany(ctx, core.Spans(refs, archive, e.start-e.step, e.end), func(k int, rows *core.Rows, err error) {
			switch {
			case errors.Is(err, core.ErrNotFound): // it was dropped meanwhile
			case err != nil:
				failed = err
			case rows.Step == e.step && len(rows.DS) == 1:
				e.keep(e.data[int64(of[k])*height:][:height], rows)
			}
		})
		if err := errors.Join(ctx.Err(), failed); err != nil {
			return err
		}
	}
	return nil
}

// keep copies rows into a column.
func (e *export) keep(column []float64, rows *core.Rows) {
	for i, v := range rows.Values {
		at := rows.Start + int64(i+1)*rows.Step
		if k := (at - e.start) / e.step; at >= e.start && k < int64(len(column)) {
			column[k] = v
		}
	}
}
