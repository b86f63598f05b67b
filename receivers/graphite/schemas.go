package graphite

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// carbonStep is the step in seconds of carbon's own schema.
const carbonStep = 60

// Schemas says how new series are stored: by carbon's storage-schemas.conf and
// storage-aggregation.conf, and where no schema matches by the step of --graphite-step.
type Schemas struct {
	step int64 // seconds; 0: it is learned
	log  *slog.Logger

	mu          sync.Mutex // guards what follows
	looked      time.Time  // when the files were looked at last
	storage     ruleFile[schema]
	aggregation ruleFile[aggregation]
}

// A schema is one section of storage-schemas.conf.
type schema struct {
	pattern    *regexp.Regexp
	retentions []Retention
}

// An aggregation is one section of storage-aggregation.conf.
type aggregation struct {
	pattern *regexp.Regexp
	cf      rra.CF
	xff     float64 // as rrdtool has it: the part of a row that may be unknown
}

// refreshEvery is how often the files are looked at.
const refreshEvery = time.Second

// refresh reads the files again that have changed. If one is wrong, what was read of it before
// stays in force.
func (s *Schemas) refresh(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.looked).Abs() < refreshEvery {
		return
	}
	s.looked = now
	for _, f := range []interface{ refresh() (bool, error) }{&s.storage, &s.aggregation} {
		if changed, err := f.refresh(); err != nil {
			s.log.Error("graphite: file not taken, what was read of it before stays in force", "err", err)
		} else if changed {
			s.log.Info("graphite: file read again")
		}
	}
}

// Define returns the definition of a new series. name is its name with its tags. step is in
// seconds; 0: as the schema says.
func (s *Schemas) Define(name string, step int64) *rra.Definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.aggregation.match(name)
	if a == nil {
		a = &aggregation{cf: rra.Average, xff: 0.5}
	}
	x := s.storage.match(name)
	switch {
	case x == nil && s.step == 0:
		return receivers.LearnedDefinition(cmp.Or(step, carbonStep))
	case x == nil:
		return receivers.StandardDefinition(cmp.Or(step, s.step))
	}
	if step == 0 {
		step = x.retentions[0].Row
	}
	d := receivers.StandardDefinition(step)
	d.Archives = x.archives(step, a)
	return d
}

// Learns reports whether the step of a series is learned. name is its name with its tags.
func (s *Schemas) Learns(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.step == 0 && s.storage.match(name) == nil
}

// archives returns the archives for a step. If the schema has another step, rows are as long
// as the step allows, and are kept for at least as long as the schema says.
func (x *schema) archives(step int64, a *aggregation) []rra.Archive {
	as := make([]rra.Archive, 0, len(x.retentions))
	for _, r := range x.retentions {
		pdps := max(r.Row/step, 1)
		rows := (r.Row*r.Rows + pdps*step - 1) / (pdps * step)
		as = append(as, rra.Archive{CF: a.cf, XFF: a.xff, PDPs: pdps, Rows: rows})
	}
	return as
}

func (x schema) matches(name string) bool { return x.pattern.MatchString(name) }

func (a aggregation) matches(name string) bool { return a.pattern.MatchString(name) }

// parseSchema reads a section of storage-schemas.conf.
func parseSchema(s section) (x schema, err error) {
	if x.pattern, err = s.pattern(); err != nil {
		return x, err
	}
	text, ok := s.values["retentions"]
	if !ok {
		return x, fmt.Errorf("retentions are missing")
	}
	if x.retentions, err = ParseRetentions(text); err != nil {
		return x, err
	}
	d := receivers.StandardDefinition(x.retentions[0].Row)
	d.Archives = x.archives(d.Step, &aggregation{cf: rra.Average, xff: 0.5})
	return x, d.Validate()
}

// methods are the ways to consolidate that carbon knows. rrdtool has no sum, and no way to take the
// largest distance from 0: docs/wire/graphite.md says what stands in for them.
var methods = map[string]rra.CF{
	"average": rra.Average, "sum": rra.Average, "min": rra.Min, "max": rra.Max, "last": rra.Last,
	"avg_zero": rra.Average, "absmax": rra.Max, "absmin": rra.Min,
}

// parseAggregation reads a section of storage-aggregation.conf.
func parseAggregation(s section) (a aggregation, err error) {
	if a.pattern, err = s.pattern(); err != nil {
		return a, err
	}
	a.cf, a.xff = rra.Average, 0.5
	if text, ok := s.values["aggregationmethod"]; ok {
		if a.cf, ok = methods[text]; !ok {
			return a, fmt.Errorf("aggregationMethod %q is none that carbon has", text)
		}
	}
	if text, ok := s.values["xfilesfactor"]; ok {
		known, err := strconv.ParseFloat(text, 64)
		if err != nil || !(known >= 0 && known <= 1) {
			return a, fmt.Errorf("xFilesFactor %q is no number from 0 to 1", text)
		}
		a.xff = math.Min(1-known, mostUnknown)
	}
	return a, nil
}

// mostUnknown is an xff just below 1: one known value is enough for a row.
const mostUnknown = 0.999999

func (s section) pattern() (*regexp.Regexp, error) {
	text, ok := s.values["pattern"]
	if !ok {
		return nil, fmt.Errorf("pattern is missing")
	}
	p, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return p, nil
}
