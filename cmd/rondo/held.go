package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// maxHeld is how much output waits for the database to be closed.
const maxHeld = 16 << 20

// A heldOutput keeps what is written to it until release, so that whoever reads it may use the database, which has been closed by
// then: `rrdtool dump a | rrdtool restore - b`. Of more than maxHeld bytes nothing is kept.
type heldOutput struct {
	to     io.Writer
	kept   bytes.Buffer
	passes bool // it was too much: what follows is passed on
}

func (h *heldOutput) Write(b []byte) (int, error) {
	if !h.passes && h.kept.Len()+len(b) <= maxHeld {
		return h.kept.Write(b)
	}
	h.passes = true
	if _, err := h.kept.WriteTo(h.to); err != nil {
		return 0, err
	}
	return h.to.Write(b)
}

// release passes on what is kept.
func (h *heldOutput) release() error {
	if _, err := h.kept.WriteTo(h.to); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// readFirst reads what restore is to read from a pipe, before the database is opened: what writes it may be using the database itself. It
// returns args with standard input in the place of what was read, and standard input.
func readFirst(p *process, args []string) ([]string, io.Reader, error) {
	rest, in, _ := rrdtool.Split(args)
	var from io.Reader
	switch info, err := os.Stat(in); {
	case in == "":
		return args, p.stdin, nil
	case in == "-":
		from = p.stdin
	case err != nil || info.Mode().IsRegular() || info.IsDir():
		return args, p.stdin, nil
	default:
		f, err := os.Open(in)
		if err != nil {
			return args, p.stdin, nil // restore says so
		}
		defer func() { _ = f.Close() }() // it is only read
		from = f
	}
	b, err := io.ReadAll(from)
	if err != nil {
		return nil, nil, fmt.Errorf("error reading/parsing XML: %w", err)
	}
	return rest, bytes.NewReader(b), nil
}
