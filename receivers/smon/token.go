package smon

// A Token is a name that a stream has given a number.
type Token struct {
	Name   string   // as sent, without the type: bytes of any kind
	Index  []uint64 // its own indexes, of an indexed token
	Type   Type
	Number uint16 // in the stream

	changes uint32 // of text
	last    uint64 // value; the base of the next
	text    []byte
}

const (
	pageBits   = 5
	pageTokens = 1 << pageBits
)

// What is counted as a decoder's state, in bytes; what the allocator rounds up is in it.
const (
	tokenCost = 96 + 16
	pageCost  = 8 * pageTokens
)

// tokens are the tokens of a stream by their numbers, which need not be dense: a page is there when
// it is needed. No page costs more than a small multiple of the bytes that define a token in it.
type tokens struct {
	pages []*[pageTokens]*Token
}

func (ts *tokens) get(n uint64) *Token {
	if p := n >> pageBits; p < uint64(len(ts.pages)) && ts.pages[p] != nil {
		return ts.pages[p][n&(pageTokens-1)]
	}
	return nil
}

// newPage reports whether a token with the number n begins a page.
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
