package router

// A tournament has all streams of a list. The stream with the smallest key is the winner. When the
// winner's key has grown it plays again, against those alone that have lost to it: that is one
// comparison a round, where a heap takes two.
type tournament[T any] struct {
	key   func(*T) string
	heads []headed[T]
	// lost[m] lost match m, and lost[0] is the winner. Match m is between the winners of matches 2m
	// and 2m+1; from len(heads) on they stand for the streams themselves.
	lost []int
}

// A headed is a stream with the key of its next entry.
type headed[T any] struct {
	key   string
	ended bool
	s     *stream[T]
}

// add adds a stream. It has an entry unless it has ended.
func (t *tournament[T]) add(s *stream[T]) {
	h := headed[T]{s: s, ended: s.ended}
	if !h.ended {
		h.key = t.key(s.head())
	}
	t.heads = append(t.heads, h)
}

// start plays all matches, once all streams are added.
func (t *tournament[T]) start() {
	n := len(t.heads)
	t.lost = make([]int, n)
	won := make([]int, 2*n)
	for i := range n {
		won[n+i] = i
	}
	for m := n - 1; m > 0; m-- {
		a, b := won[2*m], won[2*m+1]
		if t.before(b, a) {
			a, b = b, a
		}
		won[m], t.lost[m] = a, b
	}
	t.lost[0] = won[1]
}

// before says whether stream a has the smaller key. One that has ended has the largest.
func (t *tournament[T]) before(a, b int) bool {
	x, y := &t.heads[a], &t.heads[b]
	if x.ended || y.ended {
		return !x.ended
	}
	return x.key < y.key
}

// first returns the winner, or nil if all streams have ended.
func (t *tournament[T]) first() *headed[T] {
	h := &t.heads[t.lost[0]]
	if h.ended {
		return nil
	}
	return h
}

// again has the winner, whose key has grown or which has ended, play again.
func (t *tournament[T]) again() {
	a := t.lost[0]
	for m := (a + len(t.heads)) / 2; m > 0; m /= 2 {
		if b := t.lost[m]; t.before(b, a) {
			a, t.lost[m] = b, a
		}
	}
	t.lost[0] = a
}
