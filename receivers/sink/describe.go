package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// Describe is receivers.Sink's.
func (s *Sink) Describe(ctx context.Context, ds []receivers.Description) ([]error, error) {
	out := make([]error, len(ds))
	ms := make([]core.PathMetadata, 0, len(ds))
	at := make([]int, 0, len(ds)) // at[i] is the description of ms[i]
	// paid[i] says whether ms[i] was taken from its sender's allowance
	paid := make([]bool, 0, len(ds))
	unused := make(map[string]int, 1)
	defer func() { s.allowed.giveBack(unused) }()
	for i := range ds {
		d := &ds[i]
		known, err := s.known(d.Path)
		switch {
		case err != nil:
			out[i] = err
			continue
		case !known && !s.allowed.spend(d.Sender):
			out[i] = receivers.ErrSenderLimit
			s.refuse(out[i])
			continue
		case !known:
			unused[d.Sender]++
		}
		m := d.PathMetadata
		m.Text = cutText(strings.ToValidUTF8(m.Text, "\uFFFD"))
		m.Attributes = attributes(m.Attributes)
		ms, at, paid = append(ms, m), append(at, i), append(paid, !known)
	}
	if len(ms) == 0 {
		return out, nil
	}
	errs, err := s.store.SetMetadata(ctx, ms)
	if err != nil {
		return nil, fmt.Errorf("metadata of %d paths: %w", len(ms), err)
	}
	for i, err := range errs {
		if out[at[i]] = err; err != nil {
			s.refuse(err)
		} else if paid[i] {
			unused[ds[at[i]].Sender]--
		}
	}
	return out, nil
}

// attributes returns attributes as a store keeps them: names as labels have them, values without
// invalid UTF-8 and zero bytes, in order of the names, each once. as stays as it is.
func attributes(as []core.Label) []core.Label {
	good := func(a core.Label) core.Label {
		value := strings.ReplaceAll(strings.ToValidUTF8(a.Value, "\uFFFD"), "\x00", "_")
		return core.Label{Name: receivers.LabelText(a.Name), Value: value}
	}
	if !slices.ContainsFunc(as, func(a core.Label) bool { return good(a) != a }) {
		return as
	}
	as = slices.Clone(as)
	for i := range as {
		as[i] = good(as[i])
	}
	slices.SortStableFunc(as, func(a, b core.Label) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(as, func(a, b core.Label) bool { return a.Name == b.Name })
}

// maxText is how many bytes of a text are kept.
const maxText = 4096

// cutText keeps the beginning of a long text.
func cutText(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// known reports whether a path has metadata or is a series.
func (s *Sink) known(path string) (bool, error) {
	m, err := s.store.Metadata(path)
	if err != nil {
		return false, err
	}
	if m.Time != 0 {
		return true, nil
	}
	_, err = s.store.Lookup(path)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Metadata is receivers.Sink's.
func (s *Sink) Metadata(_ context.Context, path string) (core.Metadata, error) {
	return s.store.Metadata(path)
}

// labelTexts returns labels with names and values that labels can have. ls stays as it is.
func labelTexts(ls []core.Label) []core.Label {
	copied := false
	for i, l := range ls {
		if l.Name, l.Value = receivers.LabelText(l.Name), receivers.LabelText(l.Value); l != ls[i] {
			if !copied {
				ls, copied = slices.Clone(ls), true
			}
			ls[i] = l
		}
	}
	return ls
}
