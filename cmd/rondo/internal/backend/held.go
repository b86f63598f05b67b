package backend

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// maxHeld is how much output waits for the database to be closed.
const maxHeld = 16 << 20

// A heldOutput keeps what is written to it until release, which is called when the database is
// closed. So the program that reads the output can use the database: `rrdtool dump a | rrdtool
// restore - b`. More than maxHeld bytes are passed on at once.
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

// readFirst reads the input of restore if it comes from a pipe, before the database is opened: the
// program that writes it may be using the database. It returns args with standard input in place of
// the pipe, and makes standard input what was read.
func (c *Call) readFirst(args []string) ([]string, error) {
	rest, in, _ := rrdtool.Split(args)
	var from io.Reader
	switch info, err := os.Stat(in); {
	case in == "":
		return args, nil
	case in == "-":
		from = c.Stdin
	case err != nil || info.Mode().IsRegular() || info.IsDir():
		return args, nil
	default:
		f, err := os.Open(in)
		if err != nil {
			return args, nil // restore says so
		}
		defer func() { _ = f.Close() }() // it is only read
		from = f
	}
	b, err := io.ReadAll(from)
	if err != nil {
		return nil, fmt.Errorf("error reading/parsing XML: %w", err)
	}
	c.Stdin = bytes.NewReader(b)
	return rest, nil
}
