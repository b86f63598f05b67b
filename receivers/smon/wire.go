package smon

import "math/bits"

// Leads: the first byte of a number, of the length of a string, or an index code. They are part of
// the format.
const (
	leadMost   = 0xdf // 00 to df: the lead itself is the number to add
	leadPlus   = 0xe0 // e0 to e7: add 224 and the number in the next 1 to 8 bytes
	leadMinus  = 0xe8 // e8 to ef: subtract the number in the next 1 to 8 bytes
	leadEqual  = 0xf0 // f0 to f7: the number itself is in the next 1 to 8 bytes
	leadEqual2 = 0xf8 // the number itself is in the next 12 bytes
	leadEqual3 = 0xf9 // the number itself is in the next 16 bytes
	codeAppend = 0xfa // add one index
	codeLast   = 0xfb // replace the last index
	codeBefore = 0xfc // replace the index before the one that was replaced last
	codeClear  = 0xfd // remove all indexes; after token 0: define an indexed token
	stuffing   = 0xfe // follows each run of 16 fill bytes in a string; ends a reset
	fill       = 0xff
)

const (
	plusOffset = leadMost + 1 // what leadPlus adds to its number
	stuffRun   = 16
	resetRun   = 17 // so many fill bytes or more, and a stuffing byte, are a reset
)

// Limits of the protocol.
const (
	MaxDepth = 8       // indexes of one value
	MaxText  = 1 << 16 // bytes of a text
	MaxToken = 65535   // the largest number of a token
	MinName  = 3       // bytes of a token's name
	MaxName  = 255
)

// A Type is what the values of a token are: the first byte of its declaration.
type Type byte

// The types.
const (
	Unsigned Type = 'u'
	String   Type = 's'
)

// nameByte reports whether c may be in the name of a token whose declaration has a length that does
// not count the type.
func nameByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '_' || c == '.' || c == '-' || c == '/'
}

// size returns how many bytes n takes, 1 to 8.
func size(n uint64) int { return max((bits.Len64(n)+7)/8, 1) }

// appendTail appends a lead of the given row (leadPlus, leadMinus, leadEqual), and n in as few
// bytes as possible.
func appendTail(dst []byte, row byte, n uint64) []byte {
	k := size(n)
	dst = append(dst, row+byte(k)-1)
	for i := k - 1; i >= 0; i-- {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst
}

// numberSize returns how many bytes appendNumber appends.
func numberSize(base, v uint64) int {
	absolute := 1 + size(v)
	switch {
	case v >= base && v-base <= leadMost:
		return 1
	case v >= base:
		return min(absolute, 1+size(v-base-plusOffset))
	}
	return min(absolute, 1+size(base-v))
}

// appendNumber appends v as a difference to base or as an absolute number, whichever is shorter. If
// both are equally long it appends the absolute number, which needs no base.
func appendNumber(dst []byte, base, v uint64) []byte {
	switch n := numberSize(base, v); {
	case n == 1:
		return append(dst, byte(v-base))
	case n == 1+size(v):
		return appendTail(dst, leadEqual, v)
	case v >= base:
		return appendTail(dst, leadPlus, v-base-plusOffset)
	}
	return appendTail(dst, leadMinus, base-v)
}

// appendString appends a string that is to be added to the text of a token, or with replace is to
// replace it.
func appendString[T string | []byte](dst []byte, s T, replace bool) []byte {
	switch n := uint64(len(s)); {
	case replace:
		dst = appendTail(dst, leadEqual, n)
	case n <= leadMost:
		dst = append(dst, byte(n))
	default:
		dst = appendTail(dst, leadPlus, n-plusOffset)
	}
	run := 0
	for i := range len(s) {
		dst = append(dst, s[i])
		if run++; s[i] != fill {
			run = 0
		}
		if run == stuffRun {
			dst, run = append(dst, stuffing), 0
		}
	}
	return dst
}
