package backend

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// maxInput is the largest input, in bytes, of a command that a server runs. A message may be a
// little larger.
const maxInput = 60 << 20

// input returns the content of the file that a verb reads; "-" is standard input.
func (c *Call) input(name string) ([]byte, error) {
	r := c.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, rrdtool.NoXML(name)
		}
		defer func() { _ = f.Close() }() // it is only read
		r = f
	}
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(r, maxInput+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("error reading/parsing XML: %w", err)
	case n > maxInput:
		return nil, fmt.Errorf("%s has more than %d MiB, which a running server does not take: rondo import does", name, maxInput>>20)
	}
	return b.Bytes(), nil
}

// A laterFile is a file that the first byte written to it makes.
type laterFile struct {
	name string
	f    *os.File
}

func (l *laterFile) Write(b []byte) (n int, err error) {
	if l.f == nil && len(b) > 0 {
		if l.f, err = os.Create(l.name); err != nil {
			var at *os.PathError
			if errors.As(err, &at) {
				err = at.Err
			}
			return 0, fmt.Errorf("creating '%s': %w", l.name, err)
		}
	}
	if l.f == nil {
		return 0, nil
	}
	return l.f.Write(b)
}

func (l *laterFile) close() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
