package rpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// newcomers are the samples of a Write whose series are to be made first.
type newcomers struct {
	list    []Newcomer
	samples []int          // indexes in the request
	of      map[string]int // the index in list of a path
}

// A writer turns the samples of one request into a batch.
type writer struct {
	*Server
	request *rondov1.WriteRequest
	sender  string // address of the client
	view    access.View
	now     rra.Time
	refs    map[string]core.Series // by path
	new     newcomers
	batch   core.Batch
	index   []int // of the batch's samples in the request
	values  []rra.Value
	texts   []string
	answer  rondov1.WriteResponse
}

// took counts a sample of the request that was added to the batch, or that err refuses. It returns
// an error if nothing more can be stored.
func (w *writer) took(i int, err error) error {
	switch {
	case errors.Is(err, core.ErrClosed):
		return err
	case err != nil:
		w.reject(i, err)
		w.answer.Refused++
	default:
		w.index = append(w.index, i)
	}
	return nil
}

// earliestUs, a moment of 1973, is the smallest time_us that is accepted. A smaller one counts
// seconds or milliseconds by mistake, and its sample would be stored in 1970 or refused as late.
const earliestUs = 1e14

// checkEarly returns an error if a time_us of a request counts something else than microseconds.
func checkEarly(at rra.Time) error {
	if at <= 0 || at >= earliestUs {
		return nil
	}
	return fmt.Errorf("time_us is %d, but counts microseconds: that is %s", at, at.Std().UTC().Format(time.DateTime))
}

// checkAhead returns an error if the time of a sample is too far in the future.
func (s *Server) checkAhead(path string, at, now rra.Time) error {
	if s.MaxFuture > 0 && at > now+rra.Time(s.MaxFuture.Microseconds()) {
		return fmt.Errorf("%s: the time %d is more than %v ahead", path, at.Unix(), s.MaxFuture)
	}
	return nil
}

var errBeside = errors.New("update stands beside time_us or values")

func (w *writer) add(m *rondov1.Sample) error {
	series, err := w.lookup(m)
	if err != nil {
		return err
	}
	w.values, w.texts = w.values[:0], w.texts[:0]
	at := rra.Time(m.GetTimeUs())
	if at == 0 {
		at = w.now
	}
	if m.GetUpdate() != "" {
		if m.GetTimeUs() != 0 || len(m.GetValues()) > 0 {
			return errBeside
		}
		at, err = w.update(series.Definition, m.GetUpdate())
	} else if err = checkEarly(at); err == nil {
		values := m.GetValues()
		err = w.readings(series.Definition, len(values), func(kind rra.Kind, i int) (rra.Value, error) { return w.value(kind, values[i]) })
	}
	if err == nil {
		err = w.checkAhead(series.Path, at, w.now)
	}
	if err != nil {
		return err
	}
	w.batch.AddText(series.Ref, at, w.values, w.texts)
	return nil
}

func (w *writer) lookup(m *rondov1.Sample) (core.Series, error) {
	if m.GetRef() != 0 {
		return w.view.Series(core.Ref(m.GetRef())) // the error names the ref already
	}
	if series, ok := w.refs[m.GetPath()]; ok {
		return series, nil
	}
	var series core.Series
	ref, err := w.view.Lookup(m.GetPath())
	if err == nil {
		series, err = core.SeriesOf(context.Background(), w.Store, ref)
	}
	if err != nil {
		return core.Series{}, fmt.Errorf("%.200q: %w", m.GetPath(), err)
	}
	w.refs[m.GetPath()] = series
	return series, nil
}

// readings takes the n readings of a sample, one for each data source that takes any.
func (w *writer) readings(d *rra.Definition, n int, reading func(kind rra.Kind, i int) (rra.Value, error)) error {
	for i := range d.Sources {
		ds := &d.Sources[i]
		if ds.Kind == rra.Compute {
			continue
		}
		if len(w.values) == n {
			return fmt.Errorf("%w: %d, the data source %s has none", core.ErrShape, n, ds.Name)
		}
		v, err := reading(ds.Kind, len(w.values))
		if err != nil {
			return fmt.Errorf("data source %s: %w", ds.Name, err)
		}
		w.values = append(w.values, v)
	}
	if more := n - len(w.values); more > 0 {
		return fmt.Errorf("%w: %d, which is %d too many", core.ErrShape, n, more)
	}
	return nil
}

func (w *writer) value(kind rra.Kind, v *rondov1.Value) (rra.Value, error) {
	switch v := v.GetValue().(type) {
	case *rondov1.Value_Int:
		return rra.Int(v.Int), nil
	case *rondov1.Value_Uint:
		return rra.Uint(v.Uint), nil
	case *rondov1.Value_Float:
		return float(kind, v.Float)
	case *rondov1.Value_Text:
		return w.text(kind, v.Text)
	}
	return rra.Unknown, nil
}

// float is a reading given as a double; counters take integers only.
func float(kind rra.Kind, v float64) (rra.Value, error) {
	switch {
	case math.IsNaN(v):
		return rra.Unknown, nil
	case kind != rra.Counter && kind != rra.Derive:
		return rra.Float(v), nil
	case v == math.Trunc(v) && math.Abs(v) <= 1<<53:
		return rra.Int(int64(v)), nil
	}
	return rra.Value{}, fmt.Errorf("%v is no integer that a double holds exactly, which COUNTER and DERIVE need", v)
}

func (w *writer) text(kind rra.Kind, text string) (rra.Value, error) {
	if len(text) > maxReading {
		return rra.Value{}, fmt.Errorf("a reading of %d bytes: more than %d", len(text), maxReading)
	}
	v, err := rra.ParseValue(kind, text, &w.texts)
	if err != nil {
		return v, err
	}
	if v.Tag == rra.TagInvalid {
		return v, fmt.Errorf("%.200q is no reading", text)
	}
	return v, nil
}

// update takes an argument of rrdtool's update: a time and values, with colons between.
func (w *writer) update(d *rra.Definition, arg string) (rra.Time, error) {
	when, rest, ok := strings.Cut(arg, ":")
	if !ok {
		return 0, fmt.Errorf("%.200q: no values", arg)
	}
	at, err := w.time(when)
	if err != nil {
		return 0, err
	}
	texts := strings.SplitN(rest, ":", len(d.Sources)+1)
	err = w.readings(d, strings.Count(rest, ":")+1, func(kind rra.Kind, i int) (rra.Value, error) { return w.text(kind, texts[i]) })
	if errors.Is(err, core.ErrShape) {
		err = fmt.Errorf("%.200q: %w", arg, err)
	}
	return at, err
}

func (w *writer) time(text string) (rra.Time, error) {
	if text == "N" {
		return w.now, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(v) < 1<<42) {
		return 0, fmt.Errorf("%.200q is no time: N, or seconds since 1970", text)
	}
	return rra.Time(math.Round(v * 1e6)), nil
}

// append stores the batch and counts the outcome.
func (w *writer) append(ctx context.Context) error {
	if w.batch.Len() == 0 {
		return nil
	}
	err := core.Append(ctx, w.Store, &w.batch)
	var rejected *core.RejectedError
	switch {
	case err == nil:
		w.answer.Accepted = int64(w.batch.Len())
		return nil
	case !errors.As(err, &rejected):
		return err
	}
	w.answer.Accepted = int64(rejected.Accepted)
	w.answer.Late = int64(rejected.Late)
	w.answer.Refused += int64(rejected.Other)
	for _, r := range rejected.First {
		w.reject(w.index[r.Index], r.Err)
	}
	return nil
}

func (w *writer) reject(index int, err error) {
	if len(w.answer.GetRejections()) < maxRejections {
		w.answer.Rejections = append(w.answer.Rejections, &rondov1.Rejection{Index: new(int64(index)), Error: bounded(err).Error()})
	}
}
