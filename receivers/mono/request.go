package mono

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

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

// ReadRequest reads what an inspector sends next. At the end of the stream the error is io.EOF, and
// inside a request it is io.EOF or io.ErrUnexpectedEOF. What is no request is a *receivers.Error.
func ReadRequest(in *bufio.Reader, d Dialect) (r Request, err error) {
	c, err := in.ReadByte()
	if err != nil {
		return r, err
	}
	switch c {
	case goodBye:
		r.Command = GoodByeRequest
	case d.first():
		r.Command = ListRequest
	case d.first() + byte(RemoveRequest):
		r.Command = RemoveRequest
		err = binary.Read(in, binary.LittleEndian, &r.Index)
	case d.first() + byte(AddRequest):
		r.Command = AddRequest
		first, second := &r.Name, &r.Category
		if d == AgentDialect {
			first, second = second, first
		}
		if *first, err = readText(in); err == nil {
			*second, err = readText(in)
		}
	default:
		err = failure(receivers.Unsupported, 0, "request %d", c)
	}
	return r, err
}

func readText(in *bufio.Reader) (string, error) {
	var size int32
	if err := binary.Read(in, binary.LittleEndian, &size); err != nil {
		return "", err
	}
	switch {
	case size < 0:
		return "", failure(receivers.Malformed, 0, "a null string in an add request")
	case size > MaxText:
		return "", failure(receivers.Limit, 0, "string of %d bytes, at most %d are allowed", size, MaxText)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(in, b); err != nil {
		return "", err
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return "", failure(receivers.Malformed, 0, "NUL in a string")
	}
	return string(b), nil
}
