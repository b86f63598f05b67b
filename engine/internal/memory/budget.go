package memory

// Used returns how many bytes are handed out or counted.
func (p *Pool) Used() int64 { return p.used.Load() }

// Count adds n bytes to what is in use. The bytes lie on the heap but belong to the budget all the
// same. A negative n takes bytes back.
func (p *Pool) Count(n int64) { p.used.Add(n) }

// Reserve sets n bytes aside and returns true, unless used and reserved bytes would then exceed
// limit. Callers that reserve at the same time see each other's bytes, so that together they keep
// within limit.
func (p *Pool) Reserve(n, limit int64) bool {
	for {
		reserved := p.reserved.Load()
		if p.used.Load()+reserved+n > limit {
			return false
		}
		if p.reserved.CompareAndSwap(reserved, reserved+n) {
			return true
		}
	}
}

// Unreserve gives back n bytes that Reserve has set aside: they are in use by now, or not needed.
func (p *Pool) Unreserve(n int64) { p.reserved.Add(-n) }

// Left returns how many bytes Reserve could still set aside within limit, 0 if there are none.
func (p *Pool) Left(limit int64) int64 {
	return max(limit-p.used.Load()-p.reserved.Load(), 0)
}
