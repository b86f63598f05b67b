package remotewrite

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// NameLabel is the label that holds the name of a metric.
const NameLabel = "__name__"

// maxComponent is the longest component of a path, in bytes.
const maxComponent = 1024

// check returns what is wrong with labels as sent; empty: nothing. It sorts them by name, without
// those that have no value: Prometheus takes such labels for absent.
func check(labels []core.Label) (sorted []core.Label, wrong string) {
	for i := range labels {
		switch l := &labels[i]; {
		case l.Name == "":
			return nil, "a label has no name"
		case !utf8.ValidString(l.Name):
			return nil, fmt.Sprintf("the label %.100q is no UTF-8", l.Name)
		case !utf8.ValidString(l.Value):
			return nil, fmt.Sprintf("the value of the label %.100q is no UTF-8", l.Name)
		}
	}
	slices.SortStableFunc(labels, func(a, b core.Label) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(labels); i++ {
		if labels[i].Name == labels[i-1].Name {
			return nil, fmt.Sprintf("the label %.100q is there twice", labels[i].Name)
		}
	}
	labels = slices.DeleteFunc(labels, func(l core.Label) bool { return l.Value == "" })
	if core.LabelValue(labels, NameLabel) == "" {
		return nil, "there is no metric name"
	}
	return labels, ""
}

// checked returns the labels of a key, sorted, or what is wrong with them.
func (w *work) checked(key []byte) (labels []core.Label, wrong string) {
	wire, err := w.parse(key)
	if err != nil {
		return nil, err.Error()
	}
	n := len(wire)
	if n > len(w.free) {
		w.free = make([]core.Label, max(n, 256))
	}
	labels, w.free = w.free[:n:n], w.free[n:]
	copy(labels, w.before) // many texts are the same: their memory is shared
	w.names = w.names[:0]
	differ := func(s *string, sent []byte) {
		if *s != string(sent) {
			*s, w.names = "", append(w.names, sent...)
		}
	}
	for j, l := range wire {
		differ(&labels[j].Name, l.name)
		differ(&labels[j].Value, l.value)
	}
	names := string(w.names) // of all others: one piece of memory
	cut := func(s *string, n int) {
		if *s == "" {
			*s, names = names[:n], names[n:]
		}
	}
	for j, l := range wire {
		cut(&labels[j].Name, len(l.name))
		cut(&labels[j].Value, len(l.value))
	}
	w.before = labels
	return check(labels)
}

// Identify returns the path of a series, prometheus/JOB/INSTANCE/NAME{OTHER LABELS}, and its labels
// as sent. The labels are sorted by name, and none is empty. Where the path does not have all of
// the labels, because characters were replaced or it is too long, it ends in a hash of them.
func Identify(labels []core.Label) receivers.Identity {
	path, whole := append(make([]byte, 0, 256), "prometheus"...), true
	component := func(s []byte) {
		if len(s) == 0 {
			s = []byte("-")
		} else if string(s) == "-" {
			whole = false
		}
		path = append(path, '/')
		start := len(path)
		path = receivers.AppendComponent(path, s)
		whole = whole && bytes.Equal(path[start:], s)
		if len(path)-start > maxComponent {
			path, whole = cut(path, start+maxComponent), false
		}
	}
	component([]byte(core.LabelValue(labels, "job")))
	component([]byte(core.LabelValue(labels, "instance")))
	name := core.LabelValue(labels, NameLabel)
	component(appendRest(append(make([]byte, 0, 256), name...), labels))
	for _, l := range labels {
		whole = whole && classic(l.Name)
	}
	if !whole || !classic(name) || bytes.HasSuffix(path, []byte(".rrd")) {
		h := fnv.New64a()
		for _, l := range labels {
			_, _ = fmt.Fprintf(h, "%d %s%d %s", len(l.Name), l.Name, len(l.Value), l.Value) // it never fails
		}
		path = fmt.Appendf(path, "#%016x", h.Sum64())
	}
	return receivers.Identity{Path: string(path), Labels: labels}
}

// classic reports whether a name consists of letters, digits, underscores and colons. Other names
// may hold what separates labels in a path.
func classic(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == ':':
		default:
			return false
		}
	}
	return true
}

// appendRest appends the labels that are in no other component: {a="b",c="d"}; nothing if there are
// none.
func appendRest(b []byte, labels []core.Label) []byte {
	sep := byte('{')
	for _, l := range labels {
		if l.Name == NameLabel || l.Name == "job" || l.Name == "instance" {
			continue
		}
		b = append(append(append(b, sep), l.Name...), `="`...)
		b = append(append(b, escaper.Replace(l.Value)...), '"')
		sep = ','
	}
	if sep == ',' {
		b = append(b, '}')
	}
	return b
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// cut cuts b to n bytes, or up to three fewer so that no character is cut.
func cut(b []byte, n int) []byte {
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}
