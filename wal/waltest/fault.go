package waltest

import (
	"io/fs"
	"maps"
)

// Kinds are the kinds of operations that a Disk counts and fails: those that change something, then
// those that do not.
var Kinds = []string{
	"create", "write", "truncate", "allocate", "sync", "rename", "remove", "syncdir",
	"mkdir", "readdir", "open", "read", "size", "named", "lock",
}

// plan is what Fail was asked for.
type plan struct {
	kind    string
	nth     int // counted by calls
	forever bool
	err     error
}

// Fail makes the n-th operation of a kind from now on fail with err, and with forever every later
// one of that kind too. A write that fails has done a part of its work, a sync that fails has made
// a part durable and forgotten the rest. A later Fail replaces an earlier one; n = 0 ends it: the
// disk works again.
func (d *Disk) Fail(kind string, n int, forever bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan = plan{}
	if n > 0 {
		d.plan = plan{kind: kind, nth: d.calls[kind] + n, forever: forever, err: err}
	}
}

// Refuse makes every operation that changes something fail with err, until Refuse(nil).
func (d *Disk) Refuse(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refusal = err
}

// Calls gives the number of operations so far, by kind.
func (d *Disk) Calls() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.calls)
}

// planned counts an operation and fails it if Fail says so. d.mu is held.
func (d *Disk) planned(op Op) (kept int, err error) {
	d.calls[op.Kind]++
	p, n := d.plan, d.calls[op.Kind]
	if p.kind != op.Kind || n < p.nth || n > p.nth && !p.forever {
		return 0, nil
	}
	if op.Kind == "write" && op.Length > 0 {
		kept = d.rnd.IntN(int(op.Length) + 1)
	}
	return kept, &fs.PathError{Op: op.Kind, Path: op.Name, Err: p.err}
}

// look reports whether an operation that changes nothing fails. d.mu is held.
func (d *Disk) look(op Op) error {
	if d.lost {
		return ErrPower
	}
	if _, err := d.planned(op); err != nil {
		return err
	}
	if d.FaultRead != nil {
		if err := d.FaultRead(op); err != nil {
			return &fs.PathError{Op: op.Kind, Path: op.Name, Err: err}
		}
	}
	return nil
}
