package remotewrite

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

const (
	maxFamilies    = 1 << 16  // families whose metadata is remembered
	maxFamilyBytes = 16 << 20 // of their texts
	maxHelp        = 2000     // bytes of a help
	maxUnit        = 200      // of a unit, and of the name of a family
	describeAtOnce = 8192     // series that are described with one wait for the store
)

// families are the metadata of families of metrics.
type families struct {
	byName map[string]family
	size   int // bytes
}

// A family is the metadata of one family.
type family struct {
	kind       kind
	help, unit string
}

// of returns the family of the series name.
func (f *families) of(name string) (family, bool) {
	for _, s := range familySuffixes {
		short, ok := strings.CutSuffix(name, s.text)
		if !ok {
			continue
		}
		if x, ok := f.byName[short]; ok && (s.kinds == nil || slices.Contains(s.kinds, x.kind)) {
			return x, true
		}
	}
	return family{}, false
}

// kind returns the type of the family of the series name.
func (f *families) kind(name string) kind {
	x, _ := f.of(name)
	return x.kind
}

// set remembers the metadata of a family. It reports whether it is new.
func (f *families) set(name string, x family) bool {
	was, ok := f.byName[name]
	if ok && was == x {
		return false
	}
	size := f.size + len(x.help) + len(x.unit) - len(was.help) - len(was.unit)
	if !ok {
		size += len(name)
	}
	if size > maxFamilyBytes || !ok && len(f.byName) >= maxFamilies {
		return false
	}
	if f.byName == nil {
		f.byName = make(map[string]family)
	}
	f.byName[name], f.size = x, size
	return true
}

// newFamily returns metadata as it is kept.
func newFamily(k kind, help, unit []byte) family {
	return family{k, keptText(help, maxHelp), keptText(unit, maxUnit)}
}

// keptText returns a text that an attribute can hold.
func keptText(b []byte, most int) string {
	s := strings.ReplaceAll(receivers.Text(b), "\x00", "")
	if len(s) > most {
		s = string(cut([]byte(s), most))
	}
	return s
}

// learnMetadata notes in w the metadata that is to be stored: of series that are new, and of all
// series of a family whose metadata has changed. It holds s.order.
func (s *server) learnMetadata(w *work, sender string, now time.Time) {
	for i := range w.metadata {
		m := &w.metadata[i]
		if len(m.family) == 0 || len(m.family) > maxUnit {
			continue
		}
		name := receivers.Text(m.family)
		x := newFamily(m.kind, m.help, m.unit)
		if !s.families.set(name, x) {
			continue
		}
		for _, suffix := range familySuffixes {
			if suffix.kinds == nil || slices.Contains(suffix.kinds, x.kind) {
				for _, number := range s.table.byName[name+suffix.text] {
					s.note(w, number, x, sender, now)
				}
			}
		}
	}
	for _, f := range w.fresh {
		y := &w.series[f.i]
		x := newFamily(y.kind, w.symbol(y.help), w.symbol(y.unit))
		if x == (family{}) {
			labels, _ := w.labels(y.key)
			for _, l := range labels {
				if string(l.name) == NameLabel {
					x, _ = s.families.of(string(l.value))
				}
			}
		}
		if x != (family{}) {
			s.note(w, f.number, x, sender, now)
		}
	}
}

// note notes in w that the series number is to be described by x.
func (s *server) note(w *work, number uint32, x family, sender string, now time.Time) {
	labels, wrong := w.checked(s.table.keyOf(number))
	if wrong != "" {
		return
	}
	m := core.Metadata{Time: rra.TimeOf(now)}
	for _, a := range []core.Label{{Name: "help", Value: x.help}, {Name: "type", Value: x.kind.String()}, {Name: "unit", Value: x.unit}} {
		if a.Value != "" {
			m.Attributes = append(m.Attributes, a)
		}
	}
	w.texts = append(w.texts, receivers.Description{PathMetadata: core.PathMetadata{Path: Identify(labels).Path, Metadata: m}, Sender: sender})
}

// describe stores what is noted in w and not stored yet. A failure forgets all families, so that
// their metadata is new when it comes again, which is every minute.
func (s *server) describe(ctx context.Context, w *work) {
	ds := slices.DeleteFunc(w.texts, func(d receivers.Description) bool {
		m, err := s.sink.Metadata(ctx, d.Path)
		return err == nil && slices.Equal(m.Attributes, d.Attributes)
	})
	for part := range slices.Chunk(ds, describeAtOnce) {
		out, err := s.sink.Describe(ctx, part)
		for _, e := range out {
			if err == nil && e != nil {
				s.Drop(receivers.Limit, 1)
			}
		}
		if err != nil {
			s.Drop(receivers.FailureReason(err), uint64(len(part)))
			s.cfg.Logger.Error("remotewrite: metadata not stored", "series", len(part), "err", err)
			s.order <- struct{}{} // it is held for a bounded time
			s.families = families{}
			s.leave()
			return
		}
	}
}
