package router

import (
	"context"
	"iter"
)

// A head is a stream with the key of its next entry.
type head[T any] struct {
	key string
	s   *stream[T]
}

// settle moves heads[i] to its place in a heap that begins with the smallest key.
func settle[T any](heads []head[T], i int) {
	for {
		k := 2*i + 1
		if k+1 < len(heads) && heads[k+1].key < heads[k].key {
			k++
		}
		if k >= len(heads) || heads[i].key <= heads[k].key {
			return
		}
		heads[i], heads[k] = heads[k], heads[i]
		i = k
	}
}

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
		heads := make([]head[T], 0, n)
		for p := range ss.all {
			s := &ss.all[p]
			if s.next() {
				heads = append(heads, head[T]{key(s.head()), s})
			} else if err := ss.failed(s); err != nil {
				yield(none, err)
				return
			}
		}
		for i := len(heads)/2 - 1; i >= 0; i-- {
			settle(heads, i)
		}
		for len(heads) > 0 {
			first := &heads[0]
			if !yield(*first.s.head(), nil) {
				return
			}
			if first.s.next() {
				first.key = key(first.s.head())
			} else if err := ss.failed(first.s); err != nil {
				yield(none, err)
				return
			} else {
				heads[0] = heads[len(heads)-1]
				heads = heads[:len(heads)-1]
			}
			settle(heads, 0)
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
