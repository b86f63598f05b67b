package smon

// A Token is a name that a stream has given a number.
type Token struct {
	Name   string   // as sent, without the type; any bytes
	Index  []uint64 // the own indexes of an indexed token
	Type   Type
	Number uint16 // its number in the stream

	changes uint32 // how often text has changed
	last    uint64 // the last value, to which the next is relative
	text    []byte // the current text of a string token
}

const (
	pageBits   = 5
	pageTokens = 1 << pageBits
)

// How many bytes a token and a page count in a decoder's state, with what the allocator rounds up.
const (
	tokenCost = 96 + 16
	pageCost  = 8 * pageTokens
)

// tokens are the tokens of a stream by their numbers. The numbers need not be dense: a page is made
// when it is needed. A page takes no more memory than a small multiple of the bytes that define a
// token in it.
type tokens struct {
	pages []*[pageTokens]*Token
}

func (ts *tokens) get(n uint64) *Token {
	if p := n >> pageBits; p < uint64(len(ts.pages)) && ts.pages[p] != nil {
		return ts.pages[p][n&(pageTokens-1)]
	}
	return nil
}

// newPage reports whether a token with the number n needs a new page.
func (ts *tokens) newPage(n uint64) bool {
	p := n >> pageBits
	return p >= uint64(len(ts.pages)) || ts.pages[p] == nil
}

func (ts *tokens) put(t *Token) {
	p := int(t.Number >> pageBits)
	for p >= len(ts.pages) {
		ts.pages = append(ts.pages, nil) // at most 2048
	}
	if ts.pages[p] == nil {
		ts.pages[p] = new([pageTokens]*Token)
	}
	ts.pages[p][t.Number&(pageTokens-1)] = t
}

func (ts *tokens) clear() {
	clear(ts.pages)
	ts.pages = ts.pages[:0]
}
