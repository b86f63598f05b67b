package router

// A heap has the streams that have an entry. The one with the smallest key is the first.
type heap[T any] struct {
	key func(*T) string
	all []headed[T]
}

// A headed is a stream with the key of its next entry.
type headed[T any] struct {
	key string
	s   *stream[T]
}

// add adds a stream.
func (h *heap[T]) add(s *stream[T]) {
	i := len(h.all)
	h.all = append(h.all, headed[T]{h.key(s.head()), s})
	for i > 0 {
		above := (i - 1) / 2
		if h.all[above].key <= h.all[i].key {
			return
		}
		h.all[above], h.all[i] = h.all[i], h.all[above]
		i = above
	}
}

// drop puts the last stream in the place of the first. The caller calls down.
func (h *heap[T]) drop() {
	last := len(h.all) - 1
	h.all[0] = h.all[last]
	h.all = h.all[:last]
}

// down puts the first stream, whose key has grown, where it belongs.
func (h *heap[T]) down() {
	if len(h.all) == 0 {
		return
	}
	x, i := h.all[0], 0
	for {
		below := 2*i + 1
		if below >= len(h.all) {
			break
		}
		if below+1 < len(h.all) && h.all[below+1].key < h.all[below].key {
			below++
		}
		if x.key <= h.all[below].key {
			break
		}
		h.all[i] = h.all[below]
		i = below
	}
	h.all[i] = x
}
