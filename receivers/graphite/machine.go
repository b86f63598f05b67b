package graphite

import (
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/decimal"
)

// newestProtocol is the newest version of pickles.
const newestProtocol = 5

// run runs the instructions up to the one that stops, and returns the value that they leave.
func (u *Unpickler) run() (value, *receivers.Error) {
	for {
		if u.at >= len(u.in) {
			return value{}, errEnd
		}
		op := u.in[u.at]
		if op == opStop {
			return u.pop()
		}
		u.at++
		if err := u.step(op); err != nil {
			return value{}, err
		}
	}
}

// step runs one instruction.
func (u *Unpickler) step(op byte) *receivers.Error {
	switch op {
	case opNone, opTrue, opFalse, opInt, opLong, opBinInt, opBinInt1, opBinInt2, opLong1, opLong4, opFloat, opBinFloat:
		return u.stepNumber(op)
	case opString, opUnicode:
		return u.quoted(op)
	case opShortBinString, opShortBinUnicode, opShortBinBytes:
		return u.sized(1)
	case opBinString, opBinUnicode, opBinBytes:
		return u.sized(4)
	case opBinUnicode8, opBinBytes8:
		return u.sized(8)
	case opPut, opBinPut, opLongBinPut, opMemoize, opGet, opBinGet, opLongBinGet:
		return u.stepMemo(op)
	case opProto:
		version, err := u.uint(1)
		if err == nil && version > newestProtocol {
			err = u.fault(receivers.Unsupported, "a pickle of the protocol %d", version)
		}
		return err
	case opFrame:
		_, err := u.take(8) // how many bytes follow: the pickle is here in full
		return err
	}
	return u.stepStack(op)
}

// stepStack runs an instruction that puts values of the stack together.
func (u *Unpickler) stepStack(op byte) *receivers.Error {
	switch op {
	case opMark:
		u.marks = append(u.marks, uint32(len(u.stack)))
	case opEmptyTuple:
		return u.tuple(len(u.stack))
	case opTuple1, opTuple2, opTuple3:
		return u.tuple(len(u.stack) - int(op-opTuple1) - 1)
	case opEmptyList:
		return u.list(len(u.stack))
	case opTuple, opList, opAppends, opPopMark:
		from, err := u.unmark()
		if err != nil {
			return err
		}
		switch op {
		case opTuple:
			return u.tuple(from)
		case opList:
			return u.list(from)
		case opAppends:
			return u.appends(from)
		}
		u.stack = u.stack[:from]
	case opAppend:
		return u.appends(len(u.stack) - 1)
	case opPop:
		_, err := u.pop()
		return err
	case opDup:
		v, err := u.pop()
		if err == nil {
			u.push(v)
			u.push(v)
		}
		return err
	default:
		u.at--
		return u.fault(receivers.Unsupported, "the instruction %02x, which makes no list, tuple, text or number", op)
	}
	return nil
}

// unmark returns where in the stack the innermost open list or tuple begins, and closes it.
func (u *Unpickler) unmark() (int, *receivers.Error) {
	n := len(u.marks)
	if n == 0 {
		return 0, errStack
	}
	from := int(u.marks[n-1])
	u.marks = u.marks[:n-1]
	return from, nil
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
	u.stack = u.stack[:from]
	return nil
}

// sized takes a text behind its length in n bytes.
func (u *Unpickler) sized(n uint64) *receivers.Error {
	size, err := u.uint(n)
	if err != nil {
		return err
	}
	at := u.at
	if _, err := u.take(size); err != nil {
		return err
	}
	u.push(value{kind: kindText, size: uint32(size), n: uint64(at)})
	return nil
}

// stepMemo runs an instruction that remembers the top of the stack, or takes what is remembered.
func (u *Unpickler) stepMemo(op byte) *receivers.Error {
	i, err := uint64(len(u.memo)), (*receivers.Error)(nil)
	switch op {
	case opPut, opGet:
		i, err = u.place()
	case opBinPut, opBinGet:
		i, err = u.uint(1)
	case opLongBinPut, opLongBinGet:
		i, err = u.uint(4)
	}
	if err != nil {
		return err
	}
	if op == opGet || op == opBinGet || op == opLongBinGet {
		if i >= uint64(len(u.memo)) {
			return u.fault(receivers.Malformed, "nothing is remembered as %d", i)
		}
		u.push(u.memo[i])
		return nil
	}
	v, err := u.pop()
	if err != nil {
		return err
	}
	u.push(v)
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
