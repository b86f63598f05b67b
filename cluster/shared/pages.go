package shared

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/query/dashboards"
)

const (
	// lookEvery is how often a node looks for changes of others, lookTime bounds one look.
	lookEvery, lookTime = 2 * time.Second, 5 * time.Second
)

// Options say where a node has its dashboards.
type Options struct {
	Bucket Bucket
	// Copy is the folder of the node's copy. Nobody else changes it.
	Copy *dashboards.Folder
	// Own is a folder whose pages go into the cluster when the node starts. Each page that the
	// cluster then has is removed from the folder. nil: the node has no such folder.
	Own    *dashboards.Folder
	Logger *slog.Logger
}

// Pages are the dashboards of a cluster as one node has them. It reads its copy, which is as new as
// the last look at the bucket, at most some seconds old while the servers answer. Its methods may
// be called concurrently.
type Pages struct {
	o     Options
	lines loglimit.Limit[string]

	// mu guards what follows, and changes of the copy. It is held while the bucket is read.
	mu      sync.Mutex
	have    map[string]string // digests of the texts in the copy, by name; nil: not known yet
	seen    uint64            // revision of the list that the copy is of; 0: none yet
	whole   bool              // the copy has all of that list
	offered bool              // the pages of Own were offered to the cluster
	mark    string            // ID of the list that the copy is of; empty: of none yet
}

// New returns the dashboards of a cluster. Before the first Look they come from the copy.
func New(o Options) *Pages { return &Pages{o: o} }

// Run looks at the bucket, again and again, until ctx ends.
func (p *Pages) Run(ctx context.Context) {
	for sleep.For(ctx, lookEvery) == nil {
		p.Look(ctx)
	}
}

// Look reads what has changed in the bucket. What cannot be read is logged, and stays as it was.
func (p *Pages) Look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.look(ctx); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		p.warn("the cluster's dashboards cannot be read; they are shown as they were seen last", "", err)
	}
}

// look is Look. p.mu is held.
func (p *Pages) look(ctx context.Context) error {
	l, err := p.o.Bucket.read(ctx)
	if err != nil {
		return err
	}
	if err := p.know(); err != nil {
		return err
	}
	// Who saves the first page makes the list, and nobody removes it. If it is not there, or is
	// another one than the copy is of, the servers have lost it: pages that were seen go back.
	if l.ID != p.mark && (p.mark != "" || l.revision == 0) {
		for _, name := range slices.Sorted(maps.Keys(p.have)) {
			if _, err := p.offer(ctx, p.o.Copy, name); err != nil {
				return err
			}
		}
		if l, err = p.o.Bucket.read(ctx); err != nil {
			return err
		}
		p.seen = 0
	}
	if l.revision > 0 && l.ID != p.mark {
		if err := p.o.Copy.SetMark(l.ID); err != nil {
			return err
		}
		p.mark = l.ID
	}
	if l.revision > p.seen || !p.whole {
		p.take(ctx, l)
	}
	if p.o.Own != nil && !p.offered {
		return p.offerOwn(ctx)
	}
	return nil
}

// know reads what the copy has, once.
func (p *Pages) know() error {
	if p.have != nil {
		return nil
	}
	entries, err := p.o.Copy.List()
	if err != nil {
		return err
	}
	p.have, p.mark = make(map[string]string), p.o.Copy.Mark()
	for _, e := range entries {
		if text, err := p.o.Copy.Read(e.Name); err == nil {
			p.have[e.Name] = digestOf(text)
		} else {
			p.have[e.Name] = "" // it is read from the bucket
		}
	}
	return nil
}

// take makes the copy equal to the list.
func (p *Pages) take(ctx context.Context, l *list) {
	again := p.seen == l.revision // it was tried before
	p.seen, p.whole = l.revision, true
	for name := range p.have {
		if _, there := l.Pages[name]; !there {
			if err := p.o.Copy.Drop(ctx, name); err != nil && !errors.Is(err, dashboards.ErrNotFound) {
				p.failed("remove it from the folder", name, err)
				continue
			}
			delete(p.have, name)
		}
	}
	for _, name := range l.names() {
		e := l.Pages[name]
		if p.have[name] == e.Digest {
			continue
		}
		text, err := p.o.Bucket.text(ctx, name, e)
		switch {
		case errors.Is(err, errText) && !again: // the list is about to change
			p.whole = false
			continue
		case err != nil:
			p.failed("read it", name, err)
			if errors.Is(err, core.ErrUnavailable) {
				return
			}
			continue
		}
		p.keep(name, text)
	}
}

// keep puts a text into the copy. p.mu is held.
func (p *Pages) keep(name, text string) {
	if err := p.o.Copy.Keep(name, text); err != nil {
		p.failed("put it into the folder", name, err)
		return
	}
	p.have[name] = digestOf(text)
}

// failed notes that the copy lacks something. p.mu is held.
func (p *Pages) failed(what, name string, err error) {
	p.whole = false
	p.warn("a dashboard of the cluster is shown here as it was: this node could not "+what, name, err)
}

func (p *Pages) warn(what, name string, err error) {
	if ok, _ := p.lines.Allow(name, time.Now()); ok {
		p.o.Logger.Warn(what, "dashboard", name, "err", err)
	}
}

// offerOwn offers the pages of the node's own folder to the cluster.
func (p *Pages) offerOwn(ctx context.Context) error {
	entries, err := p.o.Own.List()
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch has, err := p.offer(ctx, p.o.Own, e.Name); {
		case err != nil:
			return err
		case has:
			if err := p.o.Own.Drop(ctx, e.Name); err != nil {
				return err
			}
			p.o.Logger.Info("a dashboard of this node's folder is in the cluster now", "dashboard", e.Name)
		}
	}
	p.offered = true
	return nil
}

// offer offers a page of one of the node's folders to the cluster. It reports whether the cluster
// has it. An error says that another attempt may succeed.
func (p *Pages) offer(ctx context.Context, from *dashboards.Folder, name string) (has bool, err error) {
	text, err := from.Read(name)
	if err == nil {
		err = p.o.Bucket.Offer(ctx, name, text)
	}
	if errors.Is(err, core.ErrUnavailable) {
		return false, err
	}
	if err != nil {
		p.warn("a dashboard of this node is not in the cluster, and not shown", name, err)
	}
	return err == nil, nil
}

// ReadFor reads from the copy: see dashboards.Folder.
func (p *Pages) ReadFor(u *access.User, name string) (string, *dashboards.Page, error) {
	return p.o.Copy.ReadFor(u, name)
}

// ListFor lists the copy: see dashboards.Folder.
func (p *Pages) ListFor(u *access.User) ([]dashboards.Entry, error) { return p.o.Copy.ListFor(u) }

// Save saves a page for all nodes. It returns the errors of a dashboards.Folder. If one wraps
// core.ErrUnavailable, the servers have not answered, and the page may have been saved.
func (p *Pages) Save(ctx context.Context, name, text string) error {
	if err := dashboards.CheckName(name); err != nil {
		return err
	}
	if _, err := dashboards.Parse(text); err != nil {
		return err
	}
	if err := p.o.Bucket.Save(ctx, name, text); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.whole = false // another node may have been faster: the next look compares the copy
	if p.know() == nil {
		p.keep(name, text)
	}
	return nil
}

// Drop removes a page for all nodes. It returns the errors of a dashboards.Folder. If one wraps
// core.ErrUnavailable, the servers have not answered, and the page may have been removed.
func (p *Pages) Drop(ctx context.Context, name string) error {
	if err := p.o.Bucket.Drop(ctx, name); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.whole = false // as in Save
	if p.know() == nil && p.o.Copy.Drop(ctx, name) == nil {
		delete(p.have, name)
	}
	return nil
}
