package figures

import (
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Step is the step of the server's own series, in seconds.
const Step = 10

// Record writes the server's own figures into its store every Step seconds, until ctx ends.
func (s *Sources) Record(ctx context.Context) {
	r := recorder{store: s.Store, own: s.Own, refs: make(map[string]core.Ref)}
	var lines loglimit.Limit[string] // an error such as a full disk comes back every time
	for sleep.For(ctx, untilOwnStep(time.Now())) == nil {
		now := time.Now()
		fs := slices.Concat(s.figures(), receiverFigures(s.Receivers()), s.rrdcachedFigures())
		written := make(chan error, 1)
		go func() { written <- r.write(ctx, rra.TimeOf(now.Round(Step*time.Second)), fs) }()
		var err error
		select {
		case err = <-written:
		case <-ctx.Done():
			return // a log that does not answer would hold the server up: it gives up when it is closed
		}
		late, refused := errors.AsType[*lateError](err)
		switch was := s.Late.Swap(late.until()); {
		case refused && was == 0:
			s.Logger.Warn("own figures are not recorded until the clock has caught up: it was set back", "until", late.last.Std().UTC())
		case refused: // it was said
		case err == nil && was != 0:
			s.Logger.Info("own figures are recorded again")
		case err != nil && ctx.Err() == nil:
			lines.Log(s.Logger.Warn, "", now, "own figures not recorded", "err", err)
		}
	}
}

// untilOwnStep returns how long it is until the next whole step of the own figures, Step at
// most.
func untilOwnStep(now time.Time) time.Duration {
	const step = Step * time.Second
	now = now.Round(0) // the steps follow the clock
	return now.Truncate(step).Add(step).Sub(now)
}

// A lateError says that own figures were refused because their series have later ones: the clock
// was set back. rrdtool's series only go on.
type lateError struct{ last rra.Time }

func (e *lateError) Error() string { return "own figures are late" }

// until returns the time at which the figures are taken again, in microseconds since 1970; 0 if e
// is nil.
func (e *lateError) until() int64 {
	if e == nil {
		return 0
	}
	return int64(e.last)
}

// A recorder writes figures as series.
type recorder struct {
	store core.Engine
	own   string              // the folder of the series
	refs  map[string]core.Ref // by path
	batch core.Batch
}

func (r *recorder) write(ctx context.Context, at rra.Time, fs []figure) error {
	r.batch.Reset()
	for _, f := range fs {
		if f.series == "" {
			continue
		}
		ref, err := r.ref(ctx, f, at)
		if err != nil {
			return err
		}
		v := rra.Float(f.value)
		if f.kind == rra.Derive {
			v = rra.Int(int64(f.value))
		}
		r.batch.Add(ref, at, v)
	}
	err := core.Append(ctx, r.store, &r.batch)
	if err != nil {
		clear(r.refs) // some series may have been dropped: look them up again
	}
	var rejected *core.RejectedError
	if !errors.As(err, &rejected) || rejected.Other > 0 {
		return err
	}
	late, known := &lateError{last: at}, false
	for _, x := range rejected.First {
		if t, ok := errors.AsType[*rra.TimeError](x.Err); ok {
			late.last, known = max(late.last, t.Last), true
		}
	}
	if known && late.last == at { // the step was recorded before the clock was set
		return nil
	}
	return late
}

func (r *recorder) ref(ctx context.Context, f figure, at rra.Time) (core.Ref, error) {
	name := path.Join(r.own, f.series)
	if ref, ok := r.refs[name]; ok {
		return ref, nil
	}
	ref, err := r.store.Lookup(name)
	if errors.Is(err, core.ErrNotFound) {
		ref, err = core.Create(ctx, r.store, core.Spec{
			Path:       name,
			Labels:     r.labels(f),
			Definition: ownDefinition(f),
			Start:      at - rra.Seconds(Step),
		})
	}
	if err != nil {
		return 0, err
	}
	r.refs[name] = ref
	return ref, nil
}

// labels returns the labels of a figure in /metrics, as Prometheus would read them. A node of a
// cluster is an instance.
func (r *recorder) labels(f figure) []core.Label {
	ls := []core.Label{{Name: "__name__", Value: f.metric}, {Name: "job", Value: clustered.OwnFolder}}
	if node, ok := strings.CutPrefix(r.own, clustered.OwnFolder+"/"); ok {
		ls = append(ls, core.Label{Name: "instance", Value: node})
	}
	if receiver, _, ok := strings.Cut(f.series, "/"); ok {
		ls = append(ls, core.Label{Name: "receiver", Value: receiver})
	}
	return ls
}

func ownDefinition(f figure) *rra.Definition {
	ds := rra.DataSource{Name: "value", Kind: f.kind, Heartbeat: 2 * Step, Min: math.NaN(), Max: math.NaN()}
	if f.kind != rra.Gauge {
		ds.Min = 0 // a restart resets counters; the rate is then unknown, not negative
	}
	return &rra.Definition{
		Step:     Step,
		Sources:  []rra.DataSource{ds},
		Archives: receivers.StandardArchives(Step),
	}
}
