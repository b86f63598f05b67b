package graphite

import (
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/decimal"
)

// An instruction takes what follows its code in the pickle, and works on the stack.
type instruction func(*Unpickler) *receivers.Error

// instructions are the instructions of pickles that are known, by their codes.
var instructions = [256]instruction{
	'N':  constant(value{kind: kindNone}),
	0x88: constant(value{kind: kindInt, n: 1}), // True
	0x89: constant(value{kind: kindInt}),       // False
	'I':  decimals("", false),                  // a line; 00 and 01 are False and True
	'L':  decimals("L", false),
	'F':  decimals("", true),
	'J':  func(u *Unpickler) *receivers.Error { return u.signed(4) },
	'K':  unsigned(1),
	'M':  unsigned(2),
	0x8a: long(1),
	0x8b: long(4),
	'G':  (*Unpickler).float,

	'S': quoted(false),
	'V': quoted(true),
	'U': sized(1), 'C': sized(1), 0x8c: sized(1),
	'T': sized(4), 'B': sized(4), 'X': sized(4),
	0x8d: sized(8), 0x8e: sized(8),

	'(':  (*Unpickler).mark,
	')':  top(0, (*Unpickler).tuple),
	0x85: top(1, (*Unpickler).tuple),
	0x86: top(2, (*Unpickler).tuple),
	0x87: top(3, (*Unpickler).tuple),
	't':  marked((*Unpickler).tuple),
	']':  top(0, (*Unpickler).list),
	'l':  marked((*Unpickler).list),
	'a':  top(1, (*Unpickler).appends),
	'e':  marked((*Unpickler).appends),
	'0':  top(1, (*Unpickler).drop),
	'1':  marked((*Unpickler).drop),
	'2':  func(u *Unpickler) *receivers.Error { return u.pushed(u.peek()) },

	'p': put((*Unpickler).place), 'q': put(number(1)), 'r': put(number(4)),
	'g': get((*Unpickler).place), 'h': get(number(1)), 'j': get(number(4)),
	0x94: put(func(u *Unpickler) (uint64, *receivers.Error) { return uint64(len(u.memo)), nil }),

	0x80: (*Unpickler).version,
	0x95: func(u *Unpickler) *receivers.Error { // how many bytes follow: the pickle is here in full
		_, err := u.take(8)
		return err
	},
}

// stop is the code of the instruction that ends a pickle.
const stop = '.'

// run runs the instructions up to the one that stops, and returns the value that they leave.
func (u *Unpickler) run() (value, *receivers.Error) {
	for u.at < len(u.in) {
		code := u.in[u.at]
		if code == stop {
			return u.peek()
		}
		do := instructions[code]
		if do == nil {
			return value{}, u.fault(receivers.Unsupported, "the instruction %02x, which makes no list, tuple, text or number", code)
		}
		u.at++
		if err := do(u); err != nil {
			return value{}, err
		}
	}
	return value{}, errEnd
}

// newestProtocol is the newest version of pickles.
const newestProtocol = 5

func (u *Unpickler) version() *receivers.Error {
	version, err := u.uint(1)
	if err == nil && version > newestProtocol {
		err = u.fault(receivers.Unsupported, "a pickle of the protocol %d", version)
	}
	return err
}

func (u *Unpickler) mark() *receivers.Error {
	u.marks = append(u.marks, uint32(len(u.stack)))
	return nil
}

// marked is the instruction that hands the values of the innermost open list or tuple to do.
func marked(do func(u *Unpickler, from int) *receivers.Error) instruction {
	return func(u *Unpickler) *receivers.Error {
		n := len(u.marks)
		if n == 0 {
			return errStack
		}
		from := int(u.marks[n-1])
		u.marks = u.marks[:n-1]
		return do(u, from)
	}
}

// top is the instruction that hands the last n values to do.
func top(n int, do func(u *Unpickler, from int) *receivers.Error) instruction {
	return func(u *Unpickler) *receivers.Error { return do(u, len(u.stack)-n) }
}

// tuple makes a tuple of the stack's values from number from on.
func (u *Unpickler) tuple(from int) *receivers.Error {
	if from < u.bottom() {
		return errStack
	}
	v := value{kind: kindTuple, size: uint32(len(u.stack) - from), n: uint64(len(u.items))}
	u.items = append(u.items, u.stack[from:]...)
	u.stack = append(u.stack[:from], v)
	return nil
}

// list makes a list in the same way.
func (u *Unpickler) list(from int) *receivers.Error {
	v := value{kind: kindList, n: uint64(len(u.lists))}
	u.lists = append(u.lists, append([]value(nil), u.stack[from:]...))
	u.stack = append(u.stack[:from], v)
	return nil
}

// appends appends the stack's values from number from on to the list below them.
func (u *Unpickler) appends(from int) *receivers.Error {
	if from-1 < u.bottom() || u.stack[from-1].kind != kindList {
		return errStack
	}
	n := u.stack[from-1].n
	u.lists[n] = append(u.lists[n], u.stack[from:]...)
	return u.drop(from)
}

func (u *Unpickler) drop(from int) *receivers.Error {
	if from < u.bottom() {
		return errStack
	}
	u.stack = u.stack[:from]
	return nil
}

// put is the instruction that remembers the top of the stack as the number which of returns.
func put(of func(*Unpickler) (uint64, *receivers.Error)) instruction {
	return func(u *Unpickler) *receivers.Error {
		i, err := of(u)
		if err != nil {
			return err
		}
		v, err := u.peek()
		if err != nil {
			return err
		}
		// A pickler counts from 0, so the number is no larger than the number of instructions.
		if i > uint64(u.at) {
			return u.fault(receivers.Limit, "something is to be remembered as %d", i)
		}
		for uint64(len(u.memo)) <= i {
			u.memo = append(u.memo, value{})
		}
		u.memo[i] = v
		return nil
	}
}

// get is the instruction that takes what is remembered as the number which of returns.
func get(of func(*Unpickler) (uint64, *receivers.Error)) instruction {
	return func(u *Unpickler) *receivers.Error {
		i, err := of(u)
		if err == nil && i >= uint64(len(u.memo)) {
			err = u.fault(receivers.Malformed, "nothing is remembered as %d", i)
		}
		if err == nil {
			u.push(u.memo[i])
		}
		return err
	}
}

// number takes an unsigned number of n bytes.
func number(n uint64) func(*Unpickler) (uint64, *receivers.Error) {
	return func(u *Unpickler) (uint64, *receivers.Error) { return u.uint(n) }
}

// place takes a line with the number of something remembered.
func (u *Unpickler) place() (uint64, *receivers.Error) {
	line, err := u.line()
	if err != nil {
		return 0, err
	}
	n, ok := decimal.Digits(line)
	if !ok {
		return 0, u.fault(receivers.Malformed, "%.20q is no number of something remembered", line)
	}
	return uint64(n), nil
}
