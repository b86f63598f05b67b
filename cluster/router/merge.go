package router

import (
	"context"
	"iter"
)

// merged yields the entries of all partitions in the order of their keys. Every partition yields
// its own in that order, and none has a key of another. Damage is yielded last. page is how many
// entries of each partition the caller takes, about; 0: nobody knows.
func merged[T any](ctx context.Context, n, page int, key func(*T) string, open source[T]) iter.Seq2[T, error] {
	if n == 1 {
		return open(ctx, 0)
	}
	return func(yield func(T, error) bool) {
		ss := newStreams(ctx, n, open)
		defer ss.end()
		ss.first = page
		ss.start(n)
		var none T
		t := tournament[T]{key: key}
		for p := range ss.all {
			s := &ss.all[p]
			if !s.next() {
				if err := ss.failed(s); err != nil {
					yield(none, err)
					return
				}
			}
			t.add(s)
		}
		t.start()
		for h := t.first(); h != nil; h = t.first() {
			if !yield(*h.s.head(), nil) {
				return
			}
			if h.s.next() {
				h.key = key(h.s.head())
			} else {
				if err := ss.failed(h.s); err != nil {
					yield(none, err)
					return
				}
				h.ended = true
			}
			t.again()
		}
		if err := ss.damage.err(); err != nil {
			yield(none, err)
		}
	}
}

// ahead is how many partitions are read at the same time where they are yielded one behind the
// other.
const ahead = 8

// chained yields the entries of one partition behind the entries of the one before. Damage is
// yielded last.
func chained[T any](ctx context.Context, n int, open source[T]) iter.Seq2[T, error] {
	if n == 1 {
		return open(ctx, 0)
	}
	return func(yield func(T, error) bool) {
		ss := newStreams(ctx, n, open)
		defer ss.end()
		var none T
		for p := range ss.all {
			ss.start(p + ahead)
			s := &ss.all[p]
			for s.next() {
				if !yield(*s.head(), nil) {
					return
				}
			}
			if err := ss.failed(s); err != nil {
				yield(none, err)
				return
			}
		}
		if err := ss.damage.err(); err != nil {
			yield(none, err)
		}
	}
}
