package router

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// An engine that dies has stored some of the batches that it has not answered. They are submitted
// again to the next leader, which holds whatever the one before has stored. Samples that were
// stored are then refused as late. Their senders must get the answer that they were stored, as from
// one machine, and senders of samples that are late for another reason must get that answer.
//
// Batches of a lane are stored in order. So a sample that is late was stored by the first attempt
// if the last update of its series is a time that was sent in this batch, or in a later one that
// was not answered either. Another sender may have stored a sample of the same series and the same
// time meanwhile, and then this one is taken for that. If another sender has stored a later one,
// the sample is reported as late, although it may be stored.

// Evidence is the times of the samples that were submitted and not answered.
type evidence struct {
	sent []reading // sorted
}

// A reading is when a series was read, and in which batch that was sent.
type reading struct {
	ref core.Ref
	at  rra.Time
	seq uint64
}

func (a reading) compare(b reading) int {
	return cmp.Or(cmp.Compare(a.ref, b.ref), cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
}

// from returns the readings of a series at a time or later, and others behind them.
func (ev *evidence) from(ref core.Ref, at rra.Time) []reading {
	i, _ := slices.BinarySearchFunc(ev.sent, reading{ref, at, 0}, reading.compare)
	return ev.sent[i:]
}

// has reports whether a sample of a series at a time was sent in batch seq or a later one, and in
// no earlier one.
func (ev *evidence) has(ref core.Ref, at rra.Time, seq uint64) bool {
	all := ev.from(ref, at)
	return len(all) > 0 && all[0].ref == ref && all[0].at == at && all[0].seq >= seq
}

// overtaken returns the time of a sample of a batch before seq, of the same series and not before
// at: behind it a sample at that time is late. ok is false if there is none.
func (ev *evidence) overtaken(ref core.Ref, at rra.Time, seq uint64) (by rra.Time, ok bool) {
	for _, x := range ev.from(ref, at) {
		if x.ref != ref {
			break
		}
		if x.seq < seq {
			by, ok = x.at, true
		}
	}
	return by, ok
}

// maxNamed is how many refused samples of a batch an engine is asked to name. What is not named is
// reported as late.
const maxNamed = 50_000

// prove readies an errand that was not answered for being submitted again. What speaks for it is
// gathered once, when nothing is on its way: then all that was not answered is in the queue. The
// caller holds mu. x has just been taken out of the queue.
func (l *lane) prove(x *errand) {
	if !x.unsure {
		return
	}
	if l.evidence == nil {
		ev := new(evidence)
		for _, y := range append([]*errand{x}, l.queue...) {
			if y.unsure {
				for s := range y.batch.All() {
					ev.sent = append(ev.sent, reading{s.Ref, s.At, y.seq})
				}
			}
		}
		slices.SortFunc(ev.sent, reading.compare)
		l.evidence = ev
	}
	x.evidence = l.evidence
	x.batch.Rejections = max(x.batch.Rejections, min(x.batch.Len(), maxNamed))
}

// truth returns what became of an errand, if err is what became of its last attempt.
func (x *errand) truth(err error) error {
	if !x.unsure || err == nil {
		return err
	}
	rejected, ok := errors.AsType[*core.RejectedError](err)
	switch {
	case !ok:
		return maybeStored(err)
	case x.evidence == nil:
		return err
	}
	j := judgement{x: x, first: rejected.First, newest: make(map[core.Ref]rra.Time)}
	j.out = core.RejectedError{Accepted: rejected.Accepted, Late: rejected.Late, Other: rejected.Other}
	i := 0
	for s := range x.batch.All() {
		j.sample(i, s)
		i++
	}
	switch {
	case j.out.Late+j.out.Other == 0:
		return nil
	case len(j.out.First) == 0: // those that are left were not named
		return rejected
	}
	return &j.out
}

// A judgement goes through the samples of an errand that was submitted again.
type judgement struct {
	x      *errand
	first  []core.Rejection      // of the last attempt, those that are left
	newest map[core.Ref]rra.Time // of each series, among the samples before
	last   rra.Time              // what of the command at hand was stored; 0: not asked
	out    core.RejectedError
}

// sample judges sample i.
func (j *judgement) sample(i int, s core.BatchSample) {
	was, known := j.newest[s.Ref]
	again := known && s.At <= was // late in any case
	if by, ok := j.x.evidence.overtaken(s.Ref, s.At, j.x.seq); ok && !again {
		was, again = by, true
	}
	if !s.Follows {
		j.last = 0
	}
	switch {
	case len(j.first) > 0 && j.first[0].Index == i:
		r := j.first[0]
		j.first = j.first[1:]
		last, stored := j.x.stored(s.Ref, r.Err)
		if stored && again {
			r.Err = &rra.TimeError{At: s.At, Last: was}
		}
		if !stored || again {
			j.last = 0
			j.out.First = append(j.out.First, r)
			return
		}
		j.out.Accepted, j.out.Late = j.out.Accepted+1, j.out.Late-1
		j.last = last
	case j.last == 0: // stored by the last attempt, or behind a refused one in its command
	// The last attempt has not looked at what is behind in the command. The first one has.
	case again:
		j.last = 0
		j.out.Late++
		j.out.First = append(j.out.First, core.Rejection{Index: i, Err: &rra.TimeError{At: s.At, Last: was}})
		return
	case s.At > j.last:
		j.last = 0
		j.out.Other++
		j.out.First = append(j.out.First, core.Rejection{Index: i, Err: errRefused})
		return
	default:
		j.out.Accepted++
	}
	j.newest[s.Ref] = max(was, s.At)
}

// errRefused is why the first attempt has refused a sample.
var errRefused = errors.New("it was refused by a node that did not live to say why")

// stored reports whether a sample that was refused with err was stored by an earlier attempt, and
// the last update of its series.
func (x *errand) stored(ref core.Ref, err error) (last rra.Time, ok bool) {
	late, ok := errors.AsType[*rra.TimeError](err)
	if !ok {
		return 0, false
	}
	return late.Last, late.Last >= late.At && x.evidence.has(ref, late.Last, x.seq)
}

// maybeStored is maybeDone for samples.
func maybeStored(err error) error {
	if unanswered(err) {
		return err
	}
	return fmt.Errorf("the samples may be stored or not, since an earlier attempt was not answered: %w", err)
}
