package search

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
)

// A Host is a machine that series are about, or what stands for one where nothing names a machine.
type Host struct {
	Name    string
	Senders []string // first names of the paths of its series, in order
	Series  int64
}

// A Member is a series of a host.
type Member struct {
	Path   string
	Ref    core.Ref
	Folder string // the folder that is about the host, or the series itself
}

// ErrHost says that no series is of a host.
var ErrHost = errors.New("no series is of this host")

// Hosts returns the hosts in order of their names. If within is not nil, only series in its folders
// count.
func (x *Index) Hosts(ctx context.Context, within []string) ([]Host, error) {
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.leave()
	t, s := x.tree, x.tree.scope(within)
	found := make([]Host, len(t.hosts.names))
	for node, id := range t.hosts.of {
		n := int64(t.links[node].count)
		if n > 0 && !s.has(t, node) {
			n = 0
			t.members(node, s, func(uint32) bool { n++; return ctx.Err() == nil })
		} else if n > 0 {
			if above, ok := t.anchor(t.parent[node]); ok && s.has(t, above) {
				found[t.hosts.of[above]].Series -= n // members of the node alone
			}
		}
		if n == 0 {
			continue
		}
		h := &found[id]
		h.Name, h.Series = t.hosts.names[id], h.Series+n
		if first := t.first(node); !slices.Contains(h.Senders, first) {
			h.Senders = append(h.Senders, first)
		}
	}
	found = slices.DeleteFunc(found, func(h Host) bool { return h.Series <= 0 })
	for i := range found {
		slices.Sort(found[i].Senders)
	}
	slices.SortFunc(found, func(a, b Host) int { return strings.Compare(a.Name, b.Name) })
	return found, ctx.Err()
}

// Members calls fn with the series of a host until it returns false. The error wraps ErrHost if the
// host has none.
func (x *Index) Members(ctx context.Context, host string, within []string, fn func(Member) bool) error {
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.leave()
	nodes := x.tree.ofHost(host, within)
	folder, at := "", uint32(0)
	for _, n := range nodes {
		if a, _ := x.tree.anchor(n); a != at {
			folder, at = x.tree.path(a), a
		}
		if ctx.Err() != nil || !fn(Member{x.tree.path(n), x.tree.links[n].ref, folder}) {
			return ctx.Err()
		}
	}
	if len(nodes) == 0 {
		return fmt.Errorf("%.200q: %w", host, ErrHost)
	}
	return nil
}

// HostSpark returns what says most about a host.
func (x *Index) HostSpark(ctx context.Context, host string, within []string) (Spark, error) {
	if err := x.enter(ctx); err != nil {
		return Spark{}, err
	}
	defer x.leave()
	return x.sparkAmong(x.tree.ofHost(host, within))
}

// SparkOf returns a series as what says most.
func (x *Index) SparkOf(ctx context.Context, ref core.Ref) (Spark, error) {
	e, err := core.SeriesOf(ctx, x.store, ref)
	if err != nil {
		return Spark{}, err
	}
	return x.plainSpark(&e)
}

// HostsOf returns the hosts of series by their paths, "" for a path without a series in the
// folders of within.
func (x *Index) HostsOf(ctx context.Context, paths, within []string) ([]string, error) {
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.leave()
	out, s := make([]string, len(paths)), x.tree.scope(within)
	for i, path := range paths {
		if node, ok := x.tree.find(path); ok && s.has(x.tree, node) {
			if at, ok := x.tree.anchor(node); ok {
				out[i] = x.tree.hosts.names[x.tree.hosts.of[at]]
			}
		}
	}
	return out, nil
}

// A hostTable gives nodes their hosts. A node in it is an anchor: the series at and below it belong
// to its host, but for what is below another anchor.
type hostTable struct {
	names   []string
	ids     map[string]uint32
	of      map[uint32]uint32 // host by anchor
	anchors [][]uint32        // by host; some may have gone to another one
	sure    map[uint32]bool   // anchors whose host a target_info names
}

func newHostTable() hostTable {
	return hostTable{ids: make(map[string]uint32), of: make(map[uint32]uint32), sure: make(map[uint32]bool)}
}

// set makes a node the anchor of a host.
func (h *hostTable) set(node uint32, name string) {
	id, ok := h.ids[name]
	if !ok {
		id = uint32(len(h.names))
		name = strings.Clone(name)
		h.ids[name], h.names, h.anchors = id, append(h.names, name), append(h.anchors, nil)
	}
	if was, ok := h.of[node]; ok && was == id {
		return
	}
	h.of[node] = id
	if !slices.Contains(h.anchors[id], node) || len(h.anchors[id]) > 1000 {
		h.anchors[id] = append(h.anchors[id], node)
	}
}

// memory returns the bytes that the table takes, about.
func (h *hostTable) memory() int64 { return int64(128*len(h.names) + 32*len(h.of)) }

// anchor returns the anchor of a node: itself or the nearest one above.
func (t *tree) anchor(node uint32) (uint32, bool) {
	for ; node != 0; node = t.parent[node] {
		if _, ok := t.hosts.of[node]; ok {
			return node, true
		}
	}
	return 0, false
}

// first returns the first name of the path of a node.
func (t *tree) first(node uint32) string {
	for t.parent[node] != 0 {
		node = t.parent[node]
	}
	return t.names.text(t.name[node])
}

// members yields the series of an anchor that are in a scope.
func (t *tree) members(anchor uint32, s scope, fn func(uint32) bool) bool {
	all := s.has(t, anchor)
	if !all && !slices.ContainsFunc(s, func(n scopeNode) bool { return t.isBelow(n.node, anchor) }) {
		return true
	}
	var walk func(node uint32) bool
	walk = func(node uint32) bool {
		if t.isSeries(node) && (all || s.has(t, node)) && !fn(node) {
			return false
		}
		for c := range t.children(node) {
			if _, other := t.hosts.of[c]; !other && !walk(c) {
				return false
			}
		}
		return true
	}
	return walk(anchor)
}

// ofHost returns the series of a host in order of their anchors' paths.
func (t *tree) ofHost(name string, within []string) (out []uint32) {
	s := t.scope(within)
	for _, a := range t.anchorsOf(name) {
		t.members(a, s, func(n uint32) bool { out = append(out, n); return true })
	}
	return out
}

// anchorsOf returns the anchors of a host in order of their paths.
func (t *tree) anchorsOf(name string) []uint32 {
	id, ok := t.hosts.ids[name]
	if !ok {
		return nil
	}
	anchors := slices.DeleteFunc(slices.Clone(t.hosts.anchors[id]), func(a uint32) bool {
		now, ok := t.hosts.of[a]
		return !ok || now != id || t.links[a].count == 0
	})
	slices.SortFunc(anchors, t.comparePaths)
	return slices.Compact(anchors)
}

// folders yields the anchors of a host that have series in a scope, with their paths.
func (t *tree) folders(anchors []uint32, s scope) iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		for _, a := range anchors {
			if !t.members(a, s, func(uint32) bool { return false }) && !yield(a, []byte(t.path(a))) {
				return
			}
		}
	}
}

// place notes the host of a series.
func (t *tree) place(node uint32, path string, labels []core.Label) {
	folder, own, depth, sure := hostOf(path, labels)
	at := node
	for int(t.depth[at]) > depth && t.parent[at] != 0 {
		at = t.parent[at]
	}
	h := &t.hosts
	if _, ok := h.of[at]; !ok || sure && !h.sure[at] || sure && folder < h.names[h.of[at]] {
		h.set(at, folder)
		if sure {
			h.sure[at] = true
		}
	}
	switch {
	case node == at:
	case own != "" && own != h.names[h.of[at]]:
		h.set(node, own)
	case !t.isFolder(node):
		delete(h.of, node)
	}
}

// hostOf returns the host that the first depth names of a path stand for, and the series' own host
// where its labels name one. sure says that the folder's host is certain, where it is a guess else.
func hostOf(path string, labels []core.Label) (folder, own string, depth int, sure bool) {
	parts := strings.SplitN(path, "/", 5)
	label := func(names ...string) string {
		for _, n := range names {
			if v := core.LabelValue(labels, n); v != "" {
				return v
			}
		}
		return ""
	}
	first, last := parts[0], len(parts)-1
	at := func(i int) string { return parts[min(i, last)] }
	switch first {
	case "prometheus":
		folder, depth = Machine(label("instance")), 3
		if folder == "" {
			folder = label("job")
		}
		own = label("host", "hostname")
	case "otlp":
		folder, depth = label("instance"), 3
		if name := label("host_name"); name != "" && label("__name__") == "target_info" {
			return name, "", depth, true
		}
		if folder == "" {
			folder = label("job")
		}
	case "influx":
		if folder, depth = label("host", "hostname"), last; folder == "" {
			folder, depth = at(1), 2
		}
	case "graphite", "statsd":
		depth = 2
		if first == "statsd" {
			depth = 3
		}
		if folder = at(depth - 1); last < depth {
			folder, depth = first, 1
		}
		own = label("host")
	default:
		if depth = 1; slices.Contains(receivers, first) && last > 0 {
			depth = 2
		}
		if folder = at(depth - 1); depth == 2 && label("host") != "" {
			folder = label("host")
		}
		folder = strings.TrimSuffix(folder, ".rrd")
	}
	if folder == "" {
		folder = first
	}
	return folder, own, depth, false
}

// Machine returns the host of an instance of Prometheus: without its scheme, port and path.
func Machine(instance string) string {
	if _, rest, ok := strings.Cut(instance, "://"); ok {
		instance = rest
	}
	instance, _, _ = strings.Cut(instance, "/")
	if host, _, err := net.SplitHostPort(instance); err == nil && host != "" {
		return host
	}
	return strings.Trim(instance, "[]")
}
