package sink

const MostKnown = mostKnown

// Known returns how many definitions are kept.
func (p *Policy) Known() int { return len(p.known.byCode) }
