package backend

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/rondo-db/rondo/query/rpc"
)

// A session is the store and the input of pipe mode without a server. It closes the database when
// its caller has been silent for a while, so that others can use the database, and opens it again
// with the next command.
type session struct {
	maker
	ctx     context.Context
	in      io.Reader
	renames uint64 // series that were renamed in stores closed since, and one for each store
	gone    bool   // the database was closed because of silence
	within  bool   // the input read so far ends within a line
	rest    []byte // input that was read and not yet passed on
	err     error  // of in; it is returned behind rest
	more    chan piece
	ends    bool // the input ends with errSilent when the caller is silent; what arrives later is lost
	// server has taken the database meanwhile. The input has ended for the session, and goes on for
	// the server.
	server *rpc.Client
}

// silence is how long a session without a server keeps the database open while no command arrives.
// A caller can begin another session within a few milliseconds.
const silence = 200 * time.Millisecond

var errSilent = errors.New("nothing was asked for a while")

// errServer says that a server has begun to run.
var errServer = errors.New("a server has the database now")

// runSession runs the commands of standard input on the database of this process. If a server takes
// the database, the server runs the rest.
func runSession(ctx context.Context, c *Call, s *session, kind PipeKind) (code int, err error) {
	defer func() { err = cmp.Or(err, s.letGo()) }()
	env := c.pipeEnv(kind)
	env.Store = s
	if kind == OwnPipe {
		env.Extra = s
	}
	if kind == FramedPipe {
		env.Seen, env.Made = nil, nil // the program sees to it
		s.ends = true
	}
	code = kind.pipe(ctx, env, s)
	if s.server == nil {
		if s.ends || errors.Is(s.err, io.EOF) {
			return code, nil
		}
		return code, s.err
	}
	going := *c
	going.Stdin, going.here.dir = s, env.Dir
	return server{s.server}.Pipe(ctx, &going, kind)
}

// reopen opens the database, if there is one. It returns the server if one has the database.
func (s *session) reopen() (*rpc.Client, error) {
	db, err := s.target.openForSession(s.ctx)
	if err != nil {
		return nil, err
	}
	s.use(db.Store)
	s.gone = false
	return db.Client, nil
}

// letGo closes the database. The same reference may mean another series when the database is open
// again, so letGo counts as a rename, which makes pipe mode look up names again.
func (s *session) letGo() error {
	if s.store == nil {
		return nil
	}
	s.renames, s.gone = s.Renames()+1, true
	err := s.close()
	s.use(nil)
	return err
}

// Renames counts the series that were renamed, and the times that the database was closed.
func (s *session) Renames() uint64 { return s.renames + s.maker.Renames() }

// Read reads the input. When it returns, the database is open, if there is one.
func (s *session) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	if n > 0 {
		s.within = b[n-1] != '\n'
	}
	return n, nil
}

// next waits for input, and closes the database if the caller is silent meanwhile.
func (s *session) next() error {
	if s.err != nil {
		return s.err
	}
	if s.more == nil {
		s.more = make(chan piece)
		go readPieces(s.ctx, s.in, s.more)
	}
	var silent <-chan time.Time
	if s.ends || s.store != nil && !s.within {
		wait := time.NewTimer(silence)
		defer wait.Stop()
		silent = wait.C
	}
	for {
		select {
		case p := <-s.more:
			s.rest, s.err = p.b, p.err
			if len(p.b) == 0 {
				return p.err
			}
			if !s.gone {
				return nil
			}
			server, err := s.reopen()
			if err == nil && server != nil {
				s.server, s.gone, err = server, false, errServer
			}
			if err != nil && s.server == nil {
				s.err = err
			}
			return err
		case <-silent:
			silent = nil
			if s.err = errSilent; !s.ends {
				s.err = s.letGo()
			}
			if s.err != nil {
				return s.err
			}
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// A piece is what one Read returned.
type piece struct {
	b   []byte
	err error
}

// readPieces passes on what arrives at in, until in or ctx ends. It has two buffers: a piece is
// valid until the piece behind it is received.
func readPieces(ctx context.Context, in io.Reader, to chan<- piece) {
	var buffers [2][]byte
	for i := 0; ; i ^= 1 {
		if buffers[i] == nil {
			buffers[i] = make([]byte, 64<<10)
		}
		n, err := in.Read(buffers[i])
		select {
		case to <- piece{buffers[i][:n], err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}
