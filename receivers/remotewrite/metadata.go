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
	describeBytes  = 4 << 20  // of their paths and helps
	maxDescribed   = 16 << 20 // bytes of metadata that one request stores
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
	s := strings.ReplaceAll(receivers.Text(b[:min(len(b), 4*most)]), "\x00", "")
	if len(s) > most {
		s = string(cut([]byte(s), most))
	}
	return s
}

// learnMetadata notes in w the metadata that is to be stored: of series that are new, and of all
// series of a family whose metadata has changed. It holds s.order.
func (s *server) learnMetadata(w *work) {
	var names []string // of families that have changed
	seen := make(map[string]bool)
	for i := range w.metadata {
		m := &w.metadata[i]
		if len(m.family) == 0 || len(m.family) > maxUnit {
			continue
		}
		name := receivers.Text(m.family)
		if s.families.set(name, newFamily(m.kind, m.help, m.unit)) && !seen[name] {
			names = append(names, name)
			seen[name] = true
		}
	}
	for _, name := range names {
		x := s.families.byName[name]
		w.changed = append(w.changed, x)
		for _, suffix := range familySuffixes {
			if suffix.kinds == nil || slices.Contains(suffix.kinds, x.kind) {
				for _, number := range s.table.byName[name+suffix.text] {
					w.texts = append(w.texts, text{number, ^int32(len(w.changed) - 1)})
				}
			}
		}
	}
	for _, f := range w.fresh {
		if y := &w.series[f.i]; y.kind != kindUnknown || len(s.families.byName) > 0 || y.help != 0 || y.unit != 0 {
			w.texts = append(w.texts, text{f.number, int32(f.i)})
		}
	}
}

// familyOf returns the metadata that a text stands for. It holds s.order.
func (s *server) familyOf(w *work, x text, labels []core.Label) family {
	if x.of < 0 {
		return w.changed[^x.of]
	}
	y := &w.series[x.of]
	if f := newFamily(y.kind, w.symbol(y.help), w.symbol(y.unit)); f != (family{}) {
		return f
	}
	f, _ := s.families.of(core.LabelValue(labels, NameLabel))
	return f
}

// describeNext returns the next descriptions that are noted in w, and takes them out. It returns
// false if the numbers of series mean nothing any more. It holds s.order.
func (s *server) describeNext(w *work, sender string, now time.Time) (ds []receivers.Description, ok bool) {
	if w.epoch != s.table.epoch {
		return nil, false
	}
	for size := 0; len(w.texts) > 0 && len(ds) < describeAtOnce && size < describeBytes; w.texts = w.texts[1:] {
		labels, wrong := w.checked(s.table.keyOf(w.texts[0].number))
		if wrong != "" {
			continue
		}
		x := s.familyOf(w, w.texts[0], labels)
		if x == (family{}) {
			continue
		}
		m := core.Metadata{Time: rra.TimeOf(now)}
		for _, a := range []core.Label{{Name: "help", Value: x.help}, {Name: "type", Value: x.kind.String()}, {Name: "unit", Value: x.unit}} {
			if a.Value != "" {
				m.Attributes = append(m.Attributes, a)
			}
		}
		path := Identify(labels).Path
		ds = append(ds, receivers.Description{PathMetadata: core.PathMetadata{Path: path, Metadata: m}, Sender: sender})
		size += len(path) + len(x.help)
	}
	return ds, true
}

// describe stores what is noted in w and not stored yet. A failure forgets all families, so that
// their metadata is new when it comes again, which is every minute.
func (s *server) describe(ctx context.Context, w *work, sender string, now time.Time) {
	defer func(all []text) { w.texts = all[:0] }(w.texts)
	for stored := 0; len(w.texts) > 0; {
		s.order <- struct{}{} // it is held for a bounded time
		ds, ok := s.describeNext(w, sender, now)
		if ok = ok && stored < maxDescribed; !ok {
			s.families = families{}
		}
		s.leave()
		if !ok {
			s.Drop(receivers.Limit, uint64(len(ds)+len(w.texts)))
			return
		}
		ds = slices.DeleteFunc(ds, func(d receivers.Description) bool {
			m, err := s.sink.Metadata(ctx, d.Path)
			return err == nil && slices.Equal(m.Attributes, d.Attributes)
		})
		if len(ds) > 0 && !s.describeSome(ctx, ds) {
			return
		}
		for _, d := range ds {
			stored += len(d.Path)
			for _, a := range d.Attributes {
				stored += len(a.Value)
			}
		}
	}
}

// describeSome stores descriptions, with one wait for the store. It returns false if it cannot.
func (s *server) describeSome(ctx context.Context, ds []receivers.Description) bool {
	out, err := s.sink.Describe(ctx, ds)
	for _, e := range out {
		if err == nil && e != nil {
			s.Drop(receivers.Limit, 1)
		}
	}
	if err != nil {
		s.Drop(receivers.FailureReason(err), uint64(len(ds)))
		s.cfg.Logger.Error("remotewrite: metadata not stored", "series", len(ds), "err", err)
		s.order <- struct{}{} // it is held for a bounded time
		s.families = families{}
		s.leave()
	}
	return err == nil
}
