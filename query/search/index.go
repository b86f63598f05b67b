package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

const (
	maxChanges = 64 << 10         // of the catalogue that wait for the next request
	idleTime   = 10 * time.Minute // without a request, after which the index is given up
	chargeEach = 4096             // series after which the memory is charged
)

// An Index keeps the names of a store's series. Its methods may be called at the same time; they
// take turns.
type Index struct {
	store core.Engine
	idle  time.Duration
	most  int           // changes of the catalogue that wait for the next request
	turn  chan struct{} // holds one message while somebody uses what follows

	tree  *tree // nil: it is to be made
	watch *core.Watch
	share *core.MemoryShare
	timer *time.Timer // gives the tree up

	// How well a search's words fit: by node, by name, and by number in tree.extra.
	masks, inName, inExtra []uint32
}

// New returns the index of a store. It takes no memory until it is asked.
func New(s core.Engine) *Index {
	return &Index{store: s, idle: idleTime, most: maxChanges, turn: make(chan struct{}, 1), share: core.ShareOf(s)}
}

// Close gives the memory of the index up. It may be used again.
func (x *Index) Close() {
	x.turn <- struct{}{}
	x.release()
	<-x.turn
}

// Memory returns how many bytes of the store's budget the index takes.
func (x *Index) Memory() int64 {
	x.turn <- struct{}{}
	defer func() { <-x.turn }()
	return x.share.Bytes()
}

// enter waits for its turn and brings the tree up to date. The caller calls leave, unless there is
// an error: one that wraps core.ErrMemory if the names do not fit into the budget, one of the
// store, or ctx's.
func (x *Index) enter(ctx context.Context) error {
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := x.update(ctx); err != nil {
		x.release()
		<-x.turn
		return err
	}
	if x.timer == nil {
		x.timer = time.AfterFunc(x.idle, x.Close)
	} else {
		x.timer.Reset(x.idle)
	}
	return nil
}

func (x *Index) leave() { <-x.turn }

// release gives all memory up.
func (x *Index) release() {
	if x.watch != nil {
		x.watch.End()
	}
	if x.timer != nil {
		x.timer.Stop()
	}
	x.tree, x.watch, x.timer = nil, nil, nil
	x.masks, x.inName, x.inExtra = nil, nil, nil
	_ = x.share.Resize(0) // giving back does not fail
}

// update makes the tree, or applies the changes since the last request to it. It goes on when the
// request is cancelled, because the next request needs the tree as well: a page cancels its
// requests while somebody types.
func (x *Index) update(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if x.tree != nil {
		changes, complete := x.watch.Take()
		if complete && !x.tree.wasteful() {
			return x.apply(changes)
		}
		x.release()
	}
	x.watch = x.store.Watch(x.most)
	x.tree = newTree()
	if err := x.build(ctx); err != nil {
		return err
	}
	changes, complete := x.watch.Take()
	if !complete { // the next request makes the index anew
		return nil
	}
	return x.apply(changes)
}

// build reads the whole catalogue. Damaged entries are left out.
func (x *Index) build(ctx context.Context) error {
	described, err := x.described(ctx)
	if err != nil {
		return err
	}
	n := 0
	for e, err := range x.store.Select(ctx, core.Query{}) {
		if errors.Is(err, core.ErrDamaged) {
			break
		}
		if err != nil {
			return fmt.Errorf("index of names: %w", err)
		}
		words := described[strings.TrimSuffix(e.Path, ".rrd")]
		if err := x.tree.add(e.Path, extraText(e.Path, e.Labels, words), e.Labels, e.Ref); err != nil {
			return err
		}
		if n++; n%chargeEach == 0 {
			if err := x.charge(); err != nil {
				return err
			}
		}
	}
	return x.charge()
}

// described returns the units and descriptions of all paths that have them. The texts of a path
// are shared with other paths.
func (x *Index) described(ctx context.Context) (map[string]string, error) {
	out, shared, size := make(map[string]string), make(map[string]string), int64(0)
	for m, err := range x.store.ListMetadata(ctx, core.MetadataQuery{}) {
		if errors.Is(err, core.ErrDamaged) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("index of names: %w", err)
		}
		words := descriptionOf(m.Attributes)
		if words == "" {
			continue
		}
		if _, ok := shared[words]; !ok {
			shared[words] = words
			size += int64(len(words) + 64)
		}
		out[m.Path] = shared[words]
		size += int64(len(m.Path) + 64)
		if len(out)%chargeEach == 0 {
			if err := x.share.Resize(size); err != nil {
				return nil, fmt.Errorf("index of names: %w", err)
			}
		}
	}
	return out, nil
}

// charge charges the memory of the index to the store's budget.
func (x *Index) charge() error {
	if err := x.share.Resize(x.tree.memory() + int64(4*(len(x.masks)+len(x.inName)+len(x.inExtra)))); err != nil {
		return fmt.Errorf("index of the names of %d series: %w", x.tree.series, err)
	}
	return nil
}

// apply applies changes of the catalogue.
func (x *Index) apply(changes []core.Change) error {
	for i := range changes {
		c := &changes[i]
		if i%chargeEach == 0 {
			if err := x.charge(); err != nil {
				return err
			}
		}
		if err := x.change(c); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) change(c *core.Change) error {
	if c.Metadata {
		return x.describe(c.Path)
	}
	switch {
	case c.Was == "":
	case c.Was == c.Path: // replaced
	case !x.tree.remove(c.Was):
		x.tree.remove(c.Was + ".rrd")
	}
	if c.Path == "" {
		return nil
	}
	m, err := core.MetadataOf(context.Background(), x.store, c.Path)
	if err != nil && !errors.Is(err, core.ErrDamaged) {
		return err
	}
	return x.tree.add(c.Path, extraText(c.Path, c.Labels, descriptionOf(m.Attributes)), c.Labels, c.Ref)
}

// describe takes the attributes of a path anew, if it is a series.
func (x *Index) describe(path string) error {
	node, ok := x.tree.find(path)
	if !ok || !x.tree.isSeries(node) {
		path += ".rrd"
		if node, ok = x.tree.find(path); !ok || !x.tree.isSeries(node) {
			return nil
		}
	}
	e, err := core.SeriesOf(context.Background(), x.store, x.tree.links[node].ref)
	switch {
	case errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrDamaged):
		return nil
	case err != nil:
		return err
	}
	return x.change(&core.Change{Path: path, Ref: e.Ref, Labels: e.Labels})
}

// The attributes that are searched.
var searched = []string{"description", "title", "units"}

// descriptionOf returns the texts of attributes that are searched.
func descriptionOf(as []core.Label) string {
	var out strings.Builder
	for _, a := range as {
		if slices.Contains(searched, a.Name) {
			out.WriteString(a.Value + "\x1f")
		}
	}
	return out.String()
}

// extraText returns what a search may find of a series beside its path: the values of its labels
// that are no part of the path, and its description.
func extraText(path string, labels []core.Label, description string) string {
	var out []byte
	add := func(s string) {
		if s != "" && !strings.Contains(path, s) && !strings.Contains(string(out), s) {
			out = append(append(out, s...), '\x1f')
		}
	}
	for _, l := range labels {
		add(l.Value)
	}
	for s := range strings.SplitSeq(description, "\x1f") {
		add(s)
	}
	if len(out) > maxExtra {
		out = []byte(strings.ToValidUTF8(string(out[:maxExtra]), ""))
	}
	return string(out)
}
