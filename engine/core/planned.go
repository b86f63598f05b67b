package core

import "github.com/rondo-db/rondo/rra"

// A planned is a checked Spec on its way into the catalogue.
type planned struct {
	Spec
	key string // of its name
	m   *rra.Machine
	def string // canonical code of the definition
	at  int    // its place in the result

	// What reserveClasses noted.
	shape   string // of the class that the series is about to make; empty: it exists
	refused bool

	// What find noted.
	old     Ref   // the series that has the name; 0: none
	unknown error // why that cannot be told
}

// smoothBy returns the hash that decides when the SEASONAL archives of p smooth.
func (p *planned) smoothBy() uint64 {
	if p.SmoothHash != 0 {
		return p.SmoothHash
	}
	return rra.NameHash(p.Path)
}
