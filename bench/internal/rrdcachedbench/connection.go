package rrdcachedbench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// A connection is one to a server.
type connection struct {
	name string // of the server
	conn net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
}

func newConnection(name string, c net.Conn) *connection {
	return &connection{name, c, bufio.NewReaderSize(c, 1<<16), bufio.NewWriterSize(c, 1<<16)}
}

// ask sends a request and reads its answer's first line.
func (c *connection) ask(request string) (string, error) {
	if err := c.send(request); err != nil {
		return "", err
	}
	return c.line()
}

func (c *connection) send(requests ...string) error {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	for _, r := range requests {
		if _, err := c.out.WriteString(r + "\n"); err != nil {
			return err
		}
	}
	return c.out.Flush()
}

func (c *connection) line() (string, error) {
	line, err := c.in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (c *connection) want(want string) error {
	got, err := c.line()
	if err == nil && got != want {
		err = fmt.Errorf("got %q, want %q", got, want)
	}
	return err
}

// count reads the first line of an answer of several lines and returns how many follow.
func (c *connection) count() (int, error) {
	first, err := c.line()
	if err != nil {
		return 0, err
	}
	word, _, _ := strings.Cut(first, " ")
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s answers %q", c.name, first)
	}
	return n, nil
}

// lines reads an answer of several lines and returns their number.
func (c *connection) lines() (int, error) {
	n, err := c.count()
	if err != nil {
		return 0, err
	}
	return n, c.skip(n)
}

// skip reads n lines. It must be fast, because its time counts for both servers.
func (c *connection) skip(n int) error {
	for n > 0 {
		if _, err := c.in.Peek(1); err != nil {
			return err
		}
		data, _ := c.in.Peek(c.in.Buffered()) // they are there
		used := 0
		for n > 0 {
			i := bytes.IndexByte(data[used:], '\n')
			if i < 0 {
				used = len(data)
				break
			}
			used += i + 1
			n--
		}
		if _, err := c.in.Discard(used); err != nil {
			return err
		}
	}
	return nil
}

// whole reads an answer of several lines and returns all but the first.
func (c *connection) whole() ([]string, error) {
	n, err := c.count()
	if err != nil {
		return nil, err
	}
	var lines []string
	for range n {
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

var errUnread = errors.New("answers were not read")

// pipelined sends requests at once, and reads n answers with read meanwhile.
func (c *connection) pipelined(requests []byte, n int, read func() error) error {
	return c.windowed([][]byte{requests}, 1, func() error {
		for range n {
			if err := read(); err != nil {
				return err
			}
		}
		return nil
	})
}

// windowed sends requests and reads the answer to each with read. At most window requests wait for
// their answers.
func (c *connection) windowed(requests [][]byte, window int, read func() error) error {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	free := make(chan struct{}, window)
	sent := make(chan error, 1)
	go func() {
		for _, r := range requests {
			free <- struct{}{}
			if _, err := c.conn.Write(r); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for range requests {
		if err := read(); err != nil {
			_ = c.conn.Close() // so that the sender ends
			for {
				select {
				case <-free:
				case e := <-sent:
					return errors.Join(errUnread, err, e)
				}
			}
		}
		<-free
	}
	return <-sent
}

// readBatch reads both answers to a BATCH without mistakes.
func (c *connection) readBatch() error {
	if _, err := c.line(); err != nil {
		return err
	}
	return c.want("0 errors")
}

var _ io.Closer = (*connection)(nil)

// Close closes the connection. No request is open.
func (c *connection) Close() error { return c.conn.Close() }
