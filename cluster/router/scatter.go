package router

import (
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/abreast"
)

// atOnce is how many partitions one call asks at the same time.
const atOnce = 32

// A share is what of a call belongs to one partition: indices of what the caller gave, in order.
type share struct {
	p  int
	at []int
}

// shares sorts the indices from 0 to n-1 by partition.
func (r *Store) shares(n int, partition func(i int) int) []share {
	byPartition := make(map[int]int, min(n, r.n)) // the share's index in out
	var out []share
	for i := range n {
		p := partition(i)
		if p < 0 {
			continue
		}
		k, ok := byPartition[p]
		if !ok {
			k = len(out)
			byPartition[p] = k
			out = append(out, share{p: p})
		}
		out[k].at = append(out[k].at, i)
	}
	slices.SortFunc(out, func(a, b share) int { return a.p - b.p })
	return out
}

// pick returns the things of a share.
func pick[T any](all []T, sh share) []T {
	if len(sh.at) == len(all) {
		return all // they are all of one partition
	}
	out := make([]T, len(sh.at))
	for k, i := range sh.at {
		out[k] = all[i]
	}
	return out
}

// deal calls fn with the share of each partition that has one, some at a time, and returns their
// errors. partition returns a number below 0 for an index that belongs to none.
func (r *Store) deal(n int, partition func(i int) int, fn func(sh share) error) []error {
	parts := r.shares(n, partition)
	errs := make([]error, len(parts))
	abreast.Each(len(parts), atOnce, func(k int) { errs[k] = fn(parts[k]) })
	return errs
}

// dealRefs is deal for references. fn gets them as the partition knows them.
func (r *Store) dealRefs(refs []core.Ref, fn func(sh share, in []core.Ref) error) []error {
	return r.deal(len(refs), func(i int) int { return r.place(refs[i]) }, func(sh share) error {
		in := make([]core.Ref, len(sh.at))
		for k, i := range sh.at {
			in[k] = refs[i] & (1<<partitionShift - 1)
		}
		return fn(sh, in)
	})
}

// Split gives what a caller gave to the partitions and puts their outcomes together in the caller's
// order. out[i] is the outcome of all[i]. If a partition fails as a whole, fail makes its error the
// outcome of what it was given and has no outcome. The error joins the partitions', each text once.
func Split[T, U any](r *Store, all []T, partition func(*T) int, call func(p int, part []T) ([]U, error), fail func(*U, error)) ([]U, error) {
	out := make([]U, len(all))
	errs := r.deal(len(all), func(i int) int { return partition(&all[i]) }, func(sh share) error {
		got, err := call(sh.p, pick(all, sh))
		for j, i := range sh.at {
			if j < len(got) {
				out[i] = got[j]
			}
			if err != nil {
				fail(&out[i], err)
			}
		}
		return err
	})
	return out, join(errs)
}
