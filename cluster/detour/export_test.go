package detour

import "github.com/rondo-db/rondo/engine/core"

// OnStep calls fn with what a spool has just done.
func (o *Options) OnStep(fn func(what string)) { o.step = fn }

// DeliverTo delivers to e.
func (o *Options) DeliverTo(e core.Engine) { o.to = e }

// A Sample is a reading of every data source of a series.
type Sample = sample

// Add keeps samples of a partition.
func (d *Detour) Add(p int, samples []Sample) error { return d.lanes[p].add(samples) }

// Holds says whether the spool has samples of a partition.
func (d *Detour) Holds(p int) bool { return d.lanes[p].since.Load() != 0 }

// Settle waits until no folder of the spool is being put away, and says whether none is left.
func (d *Detour) Settle() (empty bool) {
	empty = true
	for p := range d.lanes {
		l := &d.lanes[p]
		l.logMu.Lock() // whoever puts a folder away holds it
		empty = empty && l.log == nil
		l.logMu.Unlock()
	}
	return empty
}

// Errors of Add.
var (
	ErrFull      = errFull
	ErrNewSeries = errNewSeries
	ErrClosed    = errClosed
)
