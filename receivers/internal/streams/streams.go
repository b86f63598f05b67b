// Package streams is what receivers of streams have in common. A [Stream] is a connection, or a
// file in which one was recorded, and a [Server] reads both in the same way.
package streams

import (
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
)

// A Server reads the streams of one receiver. Open opens it.
type Server struct {
	receivers.Counters
	Config receivers.Config // with its defaults
	Sink   receivers.Sink
	Asks   *receivers.Resolver
	Lines  loglimit.Limit[string]

	tcp   *sockets.TCP // nil: only files are read
	files []*file
	live  bool
}

// Options are what the protocols differ in.
type Options struct {
	Protocol string
	Files    receivers.Flag // names the files
	TCP      sockets.TCPOptions
	// Live says that files may be pipes and standard input. So all are read at the same time, and
	// each has a peer of its own: the second of one name has #2 behind it. Otherwise they are read
	// one after the other.
	Live bool
}

// A Stream is one connection or file. What is read from it is counted.
type Stream struct {
	io.Reader
	Peer  string
	Host  string                 // whom new series are counted against
	Conn  *sockets.Conn          // nil: it is a file
	File  string                 // its name
	Queue *receivers.SharedQueue // of a file it waits for the store, and sheds nothing
}

// Enabled returns a function for a Protocol that is received at an address or from files.
func Enabled(files receivers.Flag) func(receivers.Config) bool {
	return func(c receivers.Config) bool { return c.Address != "" || len(c.OptionValues(files)) > 0 }
}

// Open opens files and, if cfg has an address, the socket.
func (s *Server) Open(cfg receivers.Config, sink receivers.Sink, o Options) error {
	s.Config, s.Sink, s.live = cfg.WithDefaults(), sink, o.Live
	s.Asks = receivers.NewResolver(sink, cfg, o.Protocol)
	peers := make(map[string]int)
	for _, name := range cfg.OptionValues(o.Files) {
		f, err := openFile(name, o.Live)
		if err != nil {
			_ = s.Close() // the first error counts
			return o.Files.Wrong(err)
		}
		if peers[f.peer]++; o.Live && peers[f.peer] > 1 {
			f.peer += "#" + strconv.Itoa(peers[f.peer])
		}
		s.files = append(s.files, f)
	}
	if cfg.Address == "" && cfg.Listener == nil {
		return nil
	}
	o.TCP.Traffic = &s.Traffic
	tcp, err := sockets.ListenTCP(o.TCP)
	if err != nil {
		_ = s.Close() // the first error counts
		return err
	}
	s.tcp = tcp
	return nil
}

// Addr is where it listens; nil: only files are read.
func (s *Server) Addr() net.Addr {
	if s.tcp == nil {
		return nil
	}
	return s.tcp.Addr()
}

// Close closes the socket and the files.
func (s *Server) Close() error {
	for _, f := range s.files {
		f.close()
	}
	if s.tcp == nil {
		return nil
	}
	return s.tcp.Close()
}

// Read reads files and connections until ctx ends, also when all files have been read. It calls
// handle with each.
func (s *Server) Read(ctx context.Context, handle func(ctx context.Context, st *Stream)) error {
	queue := receivers.NewSharedQueue(s.Sink, &s.Counters, s.Config)
	defer queue.Stop()
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	atOnce := max(len(s.files), 1)
	if s.live {
		atOnce = 1
	}
	for files := range slices.Chunk(s.files, atOnce) {
		reading.Go(func() { s.readFiles(ctx, files, handle) })
	}
	if s.tcp == nil {
		<-ctx.Done()
		return nil
	}
	return s.tcp.Serve(ctx, func(ctx context.Context, c *sockets.Conn) {
		handle(ctx, &Stream{Reader: c, Peer: c.Peer, Host: c.Host, Conn: c, Queue: queue})
	})
}

// readFiles reads files one after the other.
func (s *Server) readFiles(ctx context.Context, files []*file, handle func(ctx context.Context, st *Stream)) {
	queue := receivers.NewPatientQueue(ctx, s.Sink, &s.Counters, s.Config)
	defer queue.Stop()
	for _, f := range files {
		f.ctx, f.read = ctx, &s.Bytes
		handle(ctx, &Stream{Reader: f, Peer: f.peer, Host: f.peer, File: f.Name(), Queue: queue})
		f.close()
	}
}
