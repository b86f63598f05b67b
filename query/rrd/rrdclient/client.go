package rrdclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
)

// The limits of a client.
const (
	connectTime = 10 * time.Second
	answerTime  = 2 * time.Minute // for one answer
	maxAnswer   = 1 << 30         // bytes of one answer, each line counted with lineBytes more
	lineBytes   = 32              // what keeping a line as a text costs beside its bytes
	longestLine = 16 << 20

	// A connection that was silent for longer than this is replaced before the next request. The
	// server may have closed it, or another server may listen there by now. After a request on a
	// dead connection it is unknown whether the request was carried out.
	silentTime = 20 * time.Second
)

// greeting is a PING that an HTTP server refuses at once: it is longer than the preface of HTTP/2,
// and it has one word more than the first line of an HTTP request.
const greeting = "PING do you speak rrdcached's protocol?"

// ErrProtocol says that the peer does not speak rrdcached's protocol.
var ErrProtocol = errors.New("does not speak rrdcached's protocol")

// A Client speaks to one server: rrdcached, or rondo's. Its methods may be called concurrently; one
// request waits for the one before it.
//
// At a unix socket a client sends full names of files, as librrd does: relative names start at the
// working folder. At any other address it sends names as they are, and the server's base folder
// counts.
//
// A request that gets no answer is an error. The next request connects again.
type Client struct {
	addr    string // as the caller wrote it
	network string // for net.Dial, with at
	at      string
	// the working folder without its first slash; empty if names start at the server's base
	dir string

	mu     sync.Mutex // guards the fields below, and is held from a request to its answer
	conn   net.Conn
	in     *bufio.Reader
	broken bool           // the last answer was not read to its end
	used   time.Time      // time of the last answer
	files  []core.Series  // as the server has shown them, by reference
	known  map[string]int // index among files, by path
}

// Dial connects to the server at addr, in any of the forms of wire.ParsePlace. Settings behind a
// question mark, as a server's address may have, are ignored. The error wraps ErrProtocol if
// something else answers.
func Dial(ctx context.Context, addr string) (*Client, error) {
	c := &Client{addr: addr, known: make(map[string]int)}
	var err error
	if c.network, c.at, err = wire.ParsePlace(addr); err != nil {
		return nil, err
	}
	if c.network == "unix" {
		if c.dir, err = workingFolder(); err != nil {
			return nil, err
		}
	}
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// connect replaces the connection with a new one, and asks whether the peer speaks the protocol.
// The caller holds mu, or nobody else has the client yet.
func (c *Client) connect(ctx context.Context) error {
	if c.conn != nil {
		_ = c.conn.Close() // the old connection is given up
	}
	c.broken = true
	d := net.Dialer{Timeout: connectTime}
	conn, err := d.DialContext(ctx, c.network, c.at)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", c.addr, err)
	}
	c.conn, c.in, c.broken = conn, bufio.NewReaderSize(conn, 1<<16), false
	replies, err := c.converse(ctx, greeting+"\n", 1)
	if err == nil {
		err = replies[0].err
	}
	if err != nil {
		_ = conn.Close() // the first error is the one to report
		c.broken = true
	}
	return err
}

// workingFolder returns the real name of the working folder without its slash.
func workingFolder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return strings.TrimPrefix(filepath.ToSlash(dir), "/"), nil
}

// Close ends the connection.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken { // the connection is closed already, or unusable
		_ = c.conn.Close()
		return nil
	}
	c.broken = true
	return c.conn.Close()
}

// Dir returns the folder where relative names start, without its first slash.
func (c *Client) Dir() string { return c.dir }

// name returns the server's name for a path, as a word of a request.
func (c *Client) name(path string) string {
	if c.dir != "" {
		path = "/" + path
	}
	return wire.Escape(path)
}

// An AnswerError is an error that the server answers.
type AnswerError struct {
	Addr, Text string
}

func (e *AnswerError) Error() string { return "rrdcached@" + e.Addr + ": " + e.Text }

// missing reports whether an error says that a file does not exist.
func missing(err error) bool {
	var e *AnswerError
	return errors.As(err, &e) && (strings.HasPrefix(e.Text, "No such file: ") || strings.HasSuffix(e.Text, "No such file or directory"))
}

// An answer holds the first line of an answer without its number, and the lines that follow.
type answer struct {
	text  string
	lines []string
}

// do sends a request and reads its answer.
func (c *Client) do(ctx context.Context, request string) (answer, error) {
	as, err := c.doAll(ctx, []string{request})
	if err != nil {
		return answer{}, err
	}
	return as[0].answer, as[0].err
}

// A reply is an answer, or the error that the server sent in its place.
type reply struct {
	answer
	err error
}

// doAll sends requests together and reads their answers. It returns an error of the connection;
// errors in the server's answers are in the replies.
func (c *Client) doAll(ctx context.Context, requests []string) ([]reply, error) {
	var text strings.Builder
	for _, r := range requests {
		if strings.ContainsAny(r, "\n\x00") || len(r) > wire.MaxLine {
			return nil, fmt.Errorf("a request of %d bytes, or with a line end, cannot be sent", len(r))
		}
		text.WriteString(r)
		text.WriteByte('\n')
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken || time.Since(c.used) > silentTime {
		if err := c.connect(ctx); err != nil {
			return nil, err
		}
	}
	return c.converse(ctx, text.String(), len(requests))
}

// converse sends n requests, a line each, and reads their answers. The caller holds mu, or nobody
// else has the client yet.
func (c *Client) converse(ctx context.Context, requests string, n int) ([]reply, error) {
	conn := c.conn // c.conn may be replaced before the function below runs
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	replies, err := c.exchange(requests, n)
	c.used = time.Now()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		c.broken = true
		return nil, fmt.Errorf("%s: %w", c.addr, err)
	}
	return replies, nil
}

func (c *Client) exchange(text string, n int) ([]reply, error) {
	if err := c.conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return nil, err
	}
	sent := make(chan struct{})
	var unsent error
	go func() { // the server may want its answers read first
		defer close(sent)
		_, unsent = io.WriteString(c.conn, text)
	}()
	replies := make([]reply, 0, n)
	left := maxAnswer
	for range n {
		r, err := c.reply(&left)
		if err != nil {
			_ = c.conn.SetDeadline(time.Unix(1, 0)) // the sender ends
			<-sent
			return nil, err
		}
		replies = append(replies, r)
	}
	<-sent
	return replies, unsent
}

// reply reads one answer. left is how many bytes may still be read.
func (c *Client) reply(left *int) (reply, error) {
	line, err := c.line(left)
	if err != nil {
		return reply{}, err
	}
	number, text, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return reply{}, fmt.Errorf("%w: it answers %.60q", ErrProtocol, line)
	}
	if n < 0 {
		return reply{err: &AnswerError{c.addr, text}}, nil
	}
	r := reply{answer: answer{text: text}}
	for range n {
		line, err := c.line(left)
		if err != nil {
			return reply{}, err
		}
		r.lines = append(r.lines, line)
	}
	return r, nil
}

func (c *Client) line(left *int) (string, error) {
	var line []byte
	*left -= lineBytes
	for {
		part, err := c.in.ReadSlice('\n')
		line = append(line, part...)
		if *left -= len(part); *left < 0 || len(line) > longestLine {
			return "", errors.New("the answer is too long")
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			err = io.ErrUnexpectedEOF
			fallthrough
		case err != nil:
			return "", err
		}
		return strings.TrimSuffix(string(line), "\n"), nil
	}
}
