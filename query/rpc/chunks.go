package rpc

// chunks is a writer that collects bytes and sends them in messages of chunkBytes. Its first error
// stays: every later call returns it.
type chunks struct {
	buf  []byte
	send func([]byte) error
	err  error
}

func newChunks(send func([]byte) error) *chunks { return &chunks{send: send} }

func (c *chunks) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && c.err == nil {
		k := min(len(p), chunkBytes-len(c.buf))
		c.buf, p = append(c.buf, p[:k]...), p[k:]
		if len(c.buf) == chunkBytes {
			c.err = c.flush()
		}
	}
	if c.err != nil {
		return 0, c.err
	}
	return n, nil
}

func (c *chunks) flush() error {
	if c.err == nil && len(c.buf) > 0 {
		c.err = c.send(c.buf)
		c.buf = c.buf[:0]
	}
	return c.err
}

// A sender is a writer that sends each Write as one message.
type sender func([]byte) error

func (s sender) Write(p []byte) (int, error) {
	if err := s(p); err != nil {
		return 0, err
	}
	return len(p), nil
}
