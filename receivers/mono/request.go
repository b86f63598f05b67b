package mono

import (
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

// A RequestDecoder reads what an inspector sends, in pieces of any size.
type RequestDecoder struct {
	Dialect Dialect

	in    stream
	h     func(Request) // during Feed
	state requestState
	first string
}

// A requestState is what comes next.
type requestState uint8

const (
	atRequest requestState = iota
	atFirstText
	atSecondText
	atIndex
)

// Feed reads p, and calls h for each complete request. It returns the errors of a Decoder.
func (d *RequestDecoder) Feed(p []byte, h func(Request)) error {
	d.h = h
	err := d.in.feed(p, d.take)
	d.h = nil
	return err
}

// take is the element function of requests.
func (d *RequestDecoder) take(b []byte) (n, need int, err error) {
	switch d.state {
	case atRequest:
		return d.takeCommand(b)
	case atIndex:
		if len(b) < 2 {
			return 0, 2, nil
		}
		d.state = atRequest
		d.h(Request{Command: RemoveRequest, Index: int16(binary.LittleEndian.Uint16(b))})
		return 2, 0, nil
	}
	text, null, n, need, err := d.in.text(b, 0)
	switch {
	case err == nil && null:
		return 0, 0, failure(receivers.Malformed, d.in.read, "a null string in an add request")
	case n == 0:
		return 0, need, err
	case d.state == atFirstText:
		d.state, d.first = atSecondText, string(text)
		return n, 0, nil
	}
	d.state = atRequest
	r := Request{Command: AddRequest, Category: string(text), Name: d.first}
	if d.Dialect == AgentDialect {
		r.Category, r.Name = r.Name, r.Category
	}
	d.h(r)
	return n, 0, nil
}

func (d *RequestDecoder) takeCommand(b []byte) (n, need int, err error) {
	switch c := b[0]; {
	case c == goodBye:
		d.h(Request{Command: GoodByeRequest})
	case c == d.Dialect.first():
		d.h(Request{Command: ListRequest})
	case c == d.Dialect.first()+byte(AddRequest):
		d.state = atFirstText
	case c == d.Dialect.first()+byte(RemoveRequest):
		d.state = atIndex
	default:
		return 0, 0, failure(receivers.Unsupported, d.in.read, "request %d", c)
	}
	return 1, 0, nil
}
