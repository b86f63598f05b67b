package core

import "errors"

// A store that is opened for one command needs the state of one group, or of no group at all. In
// such a store replay defers the samples: it leaves each run, still coded, with its group, and the
// group applies its runs when it is loaded. A command then costs the same however many groups the
// log names. Changes of the catalogue are never deferred: replay applies them at once, in order,
// and loads the groups that they change.

// deferredMost is how many bytes of records may be deferred. A longer log is replayed by all shards
// at once.
const deferredMost = 2 << 20

// deferredChunk is the size of the pieces of memory that deferred records share, in bytes.
const deferredChunk = 64 << 10

// deferRun leaves a run with its group. A group that is loaded applies it at once.
func (l *loader) deferRun(g *group, r deferredRun) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.loaded {
		return l.applyDeferred(g, []deferredRun{r})
	}
	if len(g.deferred) == 0 {
		l.deferred.Add(1)
	}
	g.deferred = append(g.deferred, r)
	return nil
}

// applyAllDeferred makes every group apply its deferred runs. Damaged groups are passed over.
func (l *loader) applyAllDeferred() error {
	if l.deferred.Load() == 0 {
		return nil
	}
	for _, c := range *l.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			g.mu.Lock()
			waits := len(g.deferred) > 0
			g.mu.Unlock()
			if !waits {
				continue
			}
			if err := l.lockGroup(g); errors.Is(err, ErrDamaged) {
				continue
			} else if err != nil {
				return err
			}
			g.mu.Unlock()
		}
	}
	return nil
}
