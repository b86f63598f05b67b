package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/rra"
)

// absent takes a sample whose series does not exist, if the request asks for the series. err comes
// from the look-up. ok is false if the sample is to be refused, with the returned error.
func (w *writer) absent(i int, m *rondov1.Sample, err error) (ok bool, _ error) {
	if !w.request.GetCreate() || m.GetRef() != 0 || !errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrInvalid) {
		return false, err
	}
	at, n, err := w.sketch(m)
	if err != nil {
		return false, err
	}
	if n == 0 {
		return false, fmt.Errorf("%w: none, so there is no series to make", core.ErrShape)
	}
	if w.new.of == nil {
		w.new.of = make(map[string]int)
	}
	w.new.samples = append(w.new.samples, i)
	if k, ok := w.new.of[m.GetPath()]; ok {
		w.new.list[k].Time = min(w.new.list[k].Time, at)
		return true, nil
	}
	w.new.of[m.GetPath()] = len(w.new.list)
	d := w.request.GetDefinition()
	w.new.list = append(w.new.list, Newcomer{
		Path: m.GetPath(), Labels: types.ReadLabels(m.GetLabels()), Sender: w.sender, Time: at, Values: n,
		Step: d.GetStep(), DS: d.GetDs(), RRAs: d.GetRra(),
	})
	return true, nil
}

// sketch returns the time of a sample and how many values it has, as far as they are known without
// its series. A sample that is refused here makes no series.
func (w *writer) sketch(m *rondov1.Sample) (at rra.Time, values int, err error) {
	at, values = rra.Time(m.GetTimeUs()), len(m.GetValues())
	w.texts = w.texts[:0]
	switch {
	case m.GetUpdate() == "":
		if at == 0 {
			at = w.now
		}
		err = checkEarly(at)
		for _, v := range m.GetValues() {
			if v, ok := v.GetValue().(*rondov1.Value_Text); ok && err == nil {
				_, err = w.text(rra.Gauge, v.Text)
			}
		}
	case at != 0 || values > 0:
		err = errBeside
	default:
		when, rest, ok := strings.Cut(m.GetUpdate(), ":")
		at, err = w.time(when)
		for err == nil && ok {
			var text string
			text, rest, ok = strings.Cut(rest, ":")
			_, err = w.text(rra.Gauge, text)
			values++
		}
	}
	if err == nil && at < rra.Seconds(2) {
		err = fmt.Errorf("%.200s: the time %d is before 1970-01-01 00:00:02", m.GetPath(), at.Unix())
	}
	if err == nil {
		err = w.checkAhead(m.GetPath(), at, w.now)
	}
	return at, values, err
}

// make makes the series that samples wait for, and then adds these samples.
func (w *writer) make(ctx context.Context) error {
	if len(w.new.list) == 0 {
		return nil
	}
	errs, err := w.Make(ctx, w.new.list)
	if err != nil {
		return err
	}
	for _, err := range errs {
		if err == nil {
			w.answer.Created++
		}
	}
	for _, i := range w.new.samples {
		m := w.request.GetSamples()[i]
		err := errs[w.new.of[m.GetPath()]]
		if err != nil {
			err = fmt.Errorf("%.200q is not made: %w", m.GetPath(), err)
		} else {
			err = w.add(m)
		}
		if err := w.took(i, err); err != nil {
			return err
		}
	}
	return nil
}

// checkCreate checks what a Write says of new series.
func (s *Server) checkCreate(m *rondov1.WriteRequest) error {
	d := m.GetDefinition()
	switch {
	case !m.GetCreate() && d != nil:
		return invalid("definition is for new series: it needs create")
	case !m.GetCreate():
		return nil
	case s.Make == nil:
		return invalid("create: this server makes no series for samples")
	case d.GetStep() < 0:
		return invalid("definition: step %d is negative", d.GetStep())
	case len(d.GetDs())+len(d.GetRra()) == 0:
		return nil
	}
	// What one series could be made of, so that a mistake is one of the request and not of each
	// sample.
	whole := &rondov1.Definition{Step: d.GetStep(), Ds: d.GetDs(), Rra: d.GetRra()}
	if len(whole.GetDs()) == 0 {
		whole.Ds = []string{"DS:value:GAUGE:600:U:U"}
	}
	if len(whole.GetRra()) == 0 {
		whole.Rra = []string{"RRA:AVERAGE:0.5:1:1"}
	}
	if _, err := definition(whole); err != nil {
		return invalid("definition: %w", err)
	}
	return nil
}
