package router

import (
	"slices"

	"golang.org/x/sync/errgroup"
)

// atOnce is how many partitions one call asks at the same time.
const atOnce = 32

// A share is what of a call belongs to one partition: indices of what the caller gave, in order.
type share struct {
	p  int
	at []int
}

// shares sorts the indices from 0 to n-1 by partition. partition returns a number below 0 for an
// index that belongs to none.
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

// each calls fn with the numbers from 0 to n-1, some at a time, and returns when all calls have
// returned.
func each(n int, fn func(i int)) {
	if n == 1 {
		fn(0)
		return
	}
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range n {
		g.Go(func() error {
			fn(i)
			return nil
		})
	}
	_ = g.Wait() // no call returns an error
}

// everywhere calls fn for every partition, some at a time. It returns their errors by partition.
func (r *Store) everywhere(fn func(p int) error) []error {
	errs := make([]error, r.n)
	each(r.n, func(p int) { errs[p] = fn(p) })
	return errs
}

// Split gives what a caller gave to the partitions and puts their outcomes together in the caller's
// order. out[i] is the outcome of all[i]. If a partition fails as a whole, fail makes its error the
// outcome of what it was given and has no outcome. The error joins the partitions', each text once.
func Split[T, U any](r *Store, all []T, partition func(*T) int, call func(p int, part []T) ([]U, error), fail func(*U, error)) ([]U, error) {
	out := make([]U, len(all))
	parts := r.shares(len(all), func(i int) int { return partition(&all[i]) })
	errs := make([]error, len(parts))
	each(len(parts), func(k int) {
		sh := parts[k]
		var got []U
		got, errs[k] = call(sh.p, pick(all, sh))
		for j, i := range sh.at {
			if j < len(got) {
				out[i] = got[j]
			}
			if errs[k] != nil {
				fail(&out[i], errs[k])
			}
		}
	})
	return out, join(errs)
}
