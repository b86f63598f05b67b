package sink

import (
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/receivers"
)

// attributes returns as in the form that the store takes: names are label names, values are UTF-8
// without zero bytes, and each name occurs once, in order. It does not change as.
func attributes(as []core.Label) []core.Label {
	good := labelTexts(as, func(value string) string {
		return strings.ReplaceAll(strings.ToValidUTF8(value, "\uFFFD"), "\x00", "_")
	})
	if slices.Equal(good, as) {
		return as
	}
	slices.SortStableFunc(good, func(a, b core.Label) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(good, func(a, b core.Label) bool { return a.Name == b.Name })
}

// maxText is how many bytes of the text of metadata are kept.
const maxText = 4096

// cutText returns the beginning of a long text, with "…" at its end.
func cutText(s string) string {
	if len(s) <= maxText {
		return s
	}
	return text.Cut(s, maxText-len("…")) + "…"
}

// labelTexts returns ls with names and values that the store takes, values as value makes them. It
// does not change ls.
func labelTexts(ls []core.Label, value func(string) string) []core.Label {
	copied := false
	for i, l := range ls {
		if l.Name, l.Value = receivers.LabelText(l.Name), value(l.Value); l != ls[i] {
			if !copied {
				ls, copied = slices.Clone(ls), true
			}
			ls[i] = l
		}
	}
	return ls
}

// labels returns the labels of r that are not empty, as the store takes them.
func labels(r *receivers.Request) []core.Label {
	ls, none := r.Labels, func(l core.Label) bool { return l.Value == "" }
	if slices.ContainsFunc(ls, none) {
		ls = slices.DeleteFunc(slices.Clone(ls), none)
	}
	return labelTexts(ls, receivers.LabelValue)
}
