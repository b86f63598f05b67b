package peer

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// A coder writes the parts of a message, or reads them: a function that codes a type names its
// parts once, for both sides. What it reads costs no more memory than a multiple of the message,
// whatever the message says.
//
// A number is a zigzag varint, or eight bytes, lowest first. A text and a list begin with their
// length.
type coder struct {
	record.Reader        // of what is read
	out           []byte // what is written
	writes        bool

	// What many parts of a stream share is sent once.
	defs    []*rra.Definition       // those that have been read
	numbers map[*rra.Definition]int // of those that have been written, from 1 on
	ds      []string                // the names of sources that came last

	nest int // errors that an error is in
}

// fail notes why a message does not parse.
func (k *coder) fail(err error) {
	k.Fail()
	k.Err = err
}

func number[T ~int | ~int32 | ~int64 | ~uint32 | ~uint64](k *coder, x *T) {
	if k.writes {
		k.out = binary.AppendVarint(k.out, int64(*x))
	} else {
		*x = T(k.Varint())
	}
}

// fixed codes a number that is mostly large.
func fixed[T ~uint64 | ~int64](k *coder, x *T) {
	if k.writes {
		k.out = binary.LittleEndian.AppendUint64(k.out, uint64(*x))
	} else {
		*x = T(k.Uint64())
	}
}

func (k *coder) flag(x *bool) {
	switch {
	case !k.writes:
		*x = k.Byte() != 0
	case *x:
		k.out = append(k.out, 1)
	default:
		k.out = append(k.out, 0)
	}
}

func (k *coder) text(x *string) {
	if k.writes {
		k.out = record.AppendText(k.out, *x)
	} else {
		*x = k.Text()
	}
}

// bytes codes bytes. What is read is a part of the message.
func (k *coder) bytes(x *[]byte) {
	if k.writes {
		k.out = append(binary.AppendUvarint(k.out, uint64(len(*x))), *x...)
	} else {
		*x = k.Bytes(k.Uvarint())
	}
}

func (k *coder) floats(x *[]float64) { words(k, x, math.Float64bits, math.Float64frombits) }

// words codes a long list of fixed numbers.
func words[T any](k *coder, x *[]T, bits func(T) uint64, from func(uint64) T) {
	if k.writes {
		out := binary.AppendUvarint(slices.Grow(k.out, 10+8*len(*x)), uint64(len(*x)))
		for _, v := range *x {
			out = binary.LittleEndian.AppendUint64(out, bits(v))
		}
		k.out = out
		return
	}
	n := k.Uvarint()
	if n > uint64(len(k.Rest))/8 {
		k.Fail()
		return
	}
	packed := k.Bytes(8 * n)
	*x = make([]T, n)
	for i := range *x {
		(*x)[i] = from(binary.LittleEndian.Uint64(packed[8*i:]))
	}
}

// listChunk is how many short things a part of an answer has.
const listChunk = 4 << 10

// list codes a list whose parts take a byte at least.
func list[T any](k *coder, x *[]T, part func(*coder, *T)) {
	if k.writes {
		k.out = binary.AppendUvarint(k.out, uint64(len(*x)))
		for i := range *x {
			part(k, &(*x)[i])
		}
		return
	}
	n := k.Uvarint()
	if n > uint64(len(k.Rest)) {
		k.Fail()
		return
	}
	*x = nil
	for i := uint64(0); i < n && k.Err == nil; i++ {
		if i == uint64(cap(*x)) {
			*x = slices.Grow(*x, int(min(n-i, max(i, listChunk))))
		}
		*x = (*x)[:i+1]
		part(k, &(*x)[i])
	}
}

// optional codes what may not be there.
func optional[T any](k *coder, x **T, code func(*coder, *T)) {
	there := *x != nil
	if k.flag(&there); !there {
		return
	}
	if !k.writes {
		*x = new(T)
	}
	code(k, *x)
}

// none codes nothing.
func none(*coder, *struct{}) {}

func texts(k *coder, x *[]string) { list(k, x, (*coder).text) }

// definition codes a definition, which may be nil: its number, and itself if it is a new one.
func (k *coder) definition(x **rra.Definition) {
	if !k.writes {
		k.readDefinition(x)
		return
	}
	n := k.numbers[*x] // 0: nil
	fresh := n == 0 && *x != nil
	if fresh {
		if k.numbers == nil {
			k.numbers = make(map[*rra.Definition]int)
		}
		n = len(k.numbers) + 1
		k.numbers[*x] = n
	}
	if number(k, &n); fresh {
		code := core.AppendDefinition(nil, *x)
		k.bytes(&code)
	}
}

func (k *coder) readDefinition(x **rra.Definition) {
	var n int
	number(k, &n)
	switch {
	case n == 0:
		*x = nil
	case n > 0 && n <= len(k.defs):
		*x = k.defs[n-1]
	case n == len(k.defs)+1:
		d, err := core.ParseDefinition(k.Bytes(k.Uvarint()))
		if err != nil {
			k.fail(err)
			return
		}
		k.defs = append(k.defs, d)
		*x = d
	default:
		k.Fail()
	}
}

func codeLabel(k *coder, x *core.Label) {
	k.text(&x.Name)
	k.text(&x.Value)
}

func labels(k *coder, x *[]core.Label) { list(k, x, codeLabel) }

func codeSeries(k *coder, x *core.Series) {
	fixed(k, &x.Ref)
	k.text(&x.Path)
	labels(k, &x.Labels)
	k.definition(&x.Definition)
}

func codeMatcher(k *coder, x *core.Matcher) {
	value := x.Value
	if value == "" && x.Regexp != nil {
		value = x.Regexp.String() // of a matcher that NewMatcher has not made
	}
	number(k, &x.Op)
	k.text(&x.Name)
	k.text(&value)
	texts(k, &x.Folders)
	switch {
	case k.writes:
	case x.Op == core.MatchBelow:
		x.Folders = append([]string{}, x.Folders...)
	case x.Op < 0 || x.Op > core.MatchBelow:
		k.Fail()
	default:
		m, err := core.NewMatcher(x.Op, x.Name, value)
		if *x = m; err != nil {
			k.fail(err)
		}
	}
}

func matchers(k *coder, x *[]core.Matcher) { list(k, x, codeMatcher) }
