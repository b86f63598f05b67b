package shared

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/dashboards"
)

// begunAnew reports whether pages that the copy has, and a list lacks, may be lost and not dropped:
// the bucket has no list, or one that began anew, or an older one than before. p.mu is held.
func (p *Pages) begunAnew(l *list) bool {
	return l.lost || l.ID != p.mark || l.revision < p.seen
}

// bring puts the pages of the copy that a list lacks into the bucket: first all texts, then the
// list, once. After an error there is no new list, and the next look goes on with the texts that
// are still to be put. It reports whether the list that was read is all right as it is: then the
// copy may be made equal to it. Until then nothing is removed from the copy, also after a restart.
//
// Each node brings what it has. So a page that was dropped just before the list was lost comes back
// if a node had not seen that yet. p.mu is held.
func (p *Pages) bring(ctx context.Context, l *list) (ok bool, err error) {
	if m := p.made; m != nil && m.revision == l.revision && m.lost == l.lost && (l.lost || m.ID == l.ID) {
		l = m
	}
	p.made = l
	for _, name := range slices.Sorted(maps.Keys(p.have)) {
		if _, there := l.Pages[name]; there {
			continue
		}
		if err := p.add(ctx, l, name); errors.Is(err, coord.ErrConflict) {
			return false, nil // another node does the same: see its list first
		} else if err != nil {
			return false, err
		}
	}
	if l.grown || l.damaged() {
		err := p.o.Bucket.write(ctx, l)
		if errors.Is(err, coord.ErrConflict) {
			p.made = nil
			return false, nil
		}
		if err != nil {
			return false, err
		}
	} else if l.lost { // nobody has saved a page yet
		return true, nil
	}
	if l.ID != p.mark {
		if err := p.o.Copy.SetMark(l.ID); err != nil {
			return false, err
		}
	}
	ok = !l.grown && !l.lost
	p.mark, p.seen, p.made = l.ID, 0, nil
	return ok, nil
}

// add puts the text of a page of the copy into the bucket, and names it in a list that is to be
// written. A page that the bucket cannot take is logged. p.mu is held.
func (p *Pages) add(ctx context.Context, l *list, name string) error {
	var e *entry
	text, err := p.o.Copy.Read(name)
	if err == nil {
		e, err = p.o.Bucket.put(ctx, l, name, text)
	}
	switch {
	case err == nil:
		l.Pages[name], l.grown = *e, true
	case errors.Is(err, coord.ErrConflict), errors.Is(err, core.ErrUnavailable):
		return err
	default:
		p.warn("a dashboard that this node has seen is not in the cluster any more", name, err)
	}
	return nil
}

// check reads one page of the bucket, another one with each look. If its text is damaged or
// missing, and the copy has it, it is saved again. p.mu is held.
func (p *Pages) check(ctx context.Context, l *list) error {
	names := l.names()
	if len(names) == 0 {
		return nil
	}
	i, found := slices.BinarySearch(names, p.checked)
	if found {
		i++
	}
	p.checked = names[i%len(names)]
	e := l.Pages[p.checked]
	if p.have[p.checked] != e.Digest {
		return nil
	}
	if _, err := p.o.Bucket.text(ctx, e); !errors.Is(err, errText) {
		return nil // it is right, or the next look shows it
	}
	text, err := p.o.Copy.Read(p.checked)
	if err != nil || digestOf(text) != e.Digest {
		p.have[p.checked], p.whole = "", false // somebody has changed the copy
		return err
	}
	return p.o.Bucket.mend(ctx, p.checked, e, text)
}

// mend saves the text of a page once more, unless the list has another entry of it meanwhile.
func (b Bucket) mend(ctx context.Context, name string, bad entry, text string) error {
	return b.change(ctx, name, func(ctx context.Context, l *list) (*entry, error) {
		now, there := l.Pages[name]
		switch {
		case !there:
			return nil, dashboards.ErrNotFound
		case now != bad:
			return &now, nil
		}
		return b.put(ctx, l, name, text)
	})
}
