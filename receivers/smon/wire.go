package smon

import "math/bits"

// Leads: the first byte of a number, of a string's length, or an index code.
const (
	leadMost   = 0xdf // up to here the lead is the number itself, to be added
	leadPlus   = 0xe0 // … e7: add 224 and the number in the next 1 to 8 bytes
	leadMinus  = 0xe8 // … ef: subtract
	leadEqual  = 0xf0 // … f7: absolute
	leadEqual2 = 0xf8 // absolute, 12 bytes
	leadEqual3 = 0xf9 // absolute, 16 bytes
	codeAppend = 0xfa // one more index
	codeLast   = 0xfb // the last index
	codeBefore = 0xfc // the one before it
	codeClear  = 0xfd // no indexes; after token 0: an indexed definition
	stuffing   = 0xfe // stands after each run of 16 fill bytes in a string; ends a reset
	fill       = 0xff
)

const (
	plusOffset = leadMost + 1 // what leadPlus adds to its number
	stuffRun   = 16
	resetRun   = 17 // so many fill bytes and a stuffing byte are a reset
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

// nameByte reports whether c may stand in the name of a token whose declaration's length does not
// count the type.
func nameByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '_' || c == '.' || c == '-' || c == '/'
}

// size returns how many bytes n takes, 1 to 8.
func size(n uint64) int { return max((bits.Len64(n)+7)/8, 1) }

// appendTail appends a lead of the given row and n in as few bytes as it takes.
func appendTail(dst []byte, row byte, n uint64) []byte {
	k := size(n)
	dst = append(dst, row+byte(k)-1)
	for i := k - 1; i >= 0; i-- {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst
}

// numberSize returns the length of what appendNumber appends.
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

// appendNumber appends v as the shortest of a difference to base and an absolute number; of two
// that are equally long it is the absolute one, which needs no base.
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

// appendString appends a string that goes behind the text there is, or with replace in its place.
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
