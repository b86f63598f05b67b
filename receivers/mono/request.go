package mono

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/receivers"
)

// A Command is what an inspector asks an agent for.
type Command uint8

// The requests.
const (
	ListRequest    Command = iota // which counters there are
	AddRequest                    // to sample one more
	RemoveRequest                 // to sample one no more
	GoodByeRequest                // nothing: the inspector goes
)

// goodBye is the byte of GoodByeRequest in both dialects. The bytes of the other requests follow
// each other, from Dialect.first on.
const goodBye = 0x7f

// first is the byte of ListRequest.
func (d Dialect) first() byte {
	if d == AgentDialect {
		return 0
	}
	return 1
}

// A Request is one message of an inspector.
type Request struct {
	Command        Command
	Category, Name string // of AddRequest
	Index          int16  // of RemoveRequest
}

// AppendRequest appends r in dialect d. It refuses empty strings and negative indices, with which
// agents are known to have trouble: a negative index once meant all counters.
func AppendRequest(dst []byte, d Dialect, r Request) ([]byte, error) {
	switch r.Command {
	case GoodByeRequest:
		return append(dst, goodBye), nil
	case ListRequest:
		return append(dst, d.first()), nil
	case RemoveRequest:
		if r.Index < 0 {
			return dst, fmt.Errorf("index %d is negative", r.Index)
		}
		return binary.LittleEndian.AppendUint16(append(dst, d.first()+byte(RemoveRequest)), uint16(r.Index)), nil
	case AddRequest:
		if err := errors.Join(checkText("category", r.Category), checkText("name", r.Name)); err != nil {
			return dst, err
		}
		dst = append(dst, d.first()+byte(AddRequest))
		if d == AgentDialect {
			return appendText(appendText(dst, r.Category), r.Name), nil
		}
		return appendText(appendText(dst, r.Name), r.Category), nil
	}
	return dst, fmt.Errorf("request %d is not known", r.Command)
}

// ReadRequest reads what an inspector sends next. Where the stream ends the error is io.EOF. What
// is no request is a *receivers.Error.
func ReadRequest(in *bufio.Reader, d Dialect) (r Request, err error) {
	i := input{in: in}
	text := func() string {
		s, null := i.text()
		if null {
			i.fail(receivers.Malformed, 0, "a null string in an add request")
		}
		return s
	}
	switch c := i.next(1)[0]; {
	case i.err != nil:
	case c == goodBye:
		r.Command = GoodByeRequest
	case c == d.first():
		r.Command = ListRequest
	case c == d.first()+byte(RemoveRequest):
		r.Command = RemoveRequest
		r.Index = i.int16()
	case c == d.first()+byte(AddRequest):
		r.Command = AddRequest
		r.Name, r.Category = text(), text()
		if d == AgentDialect {
			r.Name, r.Category = r.Category, r.Name
		}
	default:
		i.fail(receivers.Unsupported, 0, "request %d", c)
	}
	return r, i.err
}
