package smon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/glob"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/pathname"
	"github.com/rondo-db/rondo/receivers/internal/streams"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is the smon compressed token stream.
var Protocol = receivers.Protocol{
	Name:    "smon",
	Title:   "smon's token streams",
	Network: "tcp",
	Usage:   "TCP `address` that smon token streams are sent to; the protocol has no usual port",
	Flags:   append([]receivers.Flag{flagFile, flagKind, flagStep}, flagConns.All()...),
	Enabled: streams.Enabled(flagFile),
	Default: func(c receivers.Config, step int64) *rra.Definition {
		s, _ := configure(c) // Check says what is wrong
		return define(rra.Gauge, cmp.Or(step, s.step))
	},
	Check: func(c receivers.Config) error { _, err := configure(c); return err },
	New:   newServer,
}

// A server is the receiver.
type server struct {
	streams.Server
	set  settings
	held *limit.Limit // bytes of memory that streams take, by address
	seed maphash.Seed // of the hashes of texts
}

func newServer(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{set: set, seed: maphash.MakeSeed(), held: limit.New(maxHeld, maxHostHeld)}
	err = s.Open(cfg, sink, streams.Options{Protocol: "smon", Files: flagFile, TCP: set.tcp, Live: true})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Serve reads files and connections until ctx ends. It goes on when all files have been read.
func (s *server) Serve(ctx context.Context) error { return s.Read(ctx, s.handle) }

// skipBytes is how many bytes of an invalid stream are skipped before its connection is closed.
const skipBytes = 1 << 20

var errNonsense = errors.New("nothing but nonsense")

// handle reads one stream to its end.
func (s *server) handle(ctx context.Context, st *streams.Stream) {
	c := s.newSource(st)
	defer c.release()
	switch err := c.decode(ctx); {
	case errors.Is(err, errNonsense):
		c.closed("nothing but nonsense, the connection is closed")
	case errors.Is(err, sockets.ErrIdle):
		c.closed("sender is silent, its connection is closed")
	case c.Conn != nil:
	case errors.Is(err, io.EOF):
		s.Config.Logger.Info("smon: file has ended", "file", c.File)
	case ctx.Err() == nil:
		s.Config.Logger.Error("smon: file not read on", "file", c.File, "err", err)
	}
}

// closed logs why a connection is closed.
func (c *source) closed(why string) {
	c.s.Lines.Log(c.s.Config.Logger.Info, "closed "+c.Host, c.s.Config.Now(), "smon: "+why, "peer", c.Peer)
}

var (
	flagFile = receivers.Flag{
		Name: "smon-file", Repeat: true,
		Usage: "`file` or pipe with a token stream, to be read to its end; - is standard input",
	}
	flagKind = receivers.Flag{
		Name: "smon-kind", Repeat: true,
		Usage: "kind of new series by name, as `glob=kind`: 'linux.cpu.*=DERIVE' (default: GAUGE)",
	}
	flagStep  = receivers.StepFlag("smon", "10s")
	flagConns = receivers.NewConnFlags("smon", "a sender", "senders")
)

// settings are the values of the protocol's flags.
type settings struct {
	kinds kinds
	step  int64 // seconds
	tcp   sockets.TCPOptions
}

func configure(cfg receivers.Config) (s settings, err error) {
	if s.kinds, err = parseKinds(cfg.OptionValues(flagKind)); err != nil {
		return settings{}, flagKind.Wrong(err)
	}
	if s.step, err = cfg.Step(flagStep); err != nil {
		return settings{}, err
	}
	s.tcp, err = flagConns.TCP(cfg)
	return s, err
}

// Identify returns the path of the series of a token at an index, smon/PEER/NAME[/I1/I2…], and its
// labels.
func Identify(peer string, t *Token, index []uint64) receivers.Identity {
	path := []string{peer, t.Name}
	for _, n := range index {
		path = append(path, strconv.FormatUint(n, 10))
	}
	return receivers.Identity{
		Path: pathname.Join("smon", path...),
		Labels: []core.Label{
			{Name: "peer", Value: receivers.Text([]byte(peer))},
			{Name: "token", Value: receivers.Text([]byte(t.Name))},
			{Name: "index", Value: strings.Join(path[2:], "/")},
		},
	}
}

// heartbeat is the heartbeat of a series in seconds. It is two steps if that is longer.
const heartbeat = 120

// define returns the definition of the series of a token.
func define(kind rra.Kind, step int64) *rra.Definition {
	d := receivers.StandardDefinition(step)
	d.Sources[0].Kind, d.Sources[0].Heartbeat = kind, max(heartbeat, 2*step)
	return d
}

// kinds are the kinds of series by patterns of tokens' names. The first pattern that matches
// decides.
type kinds []struct {
	name *regexp.Regexp
	kind rra.Kind
}

// parseKinds parses texts of the form GLOB=KIND.
func parseKinds(texts []string) (kinds, error) {
	k := make(kinds, len(texts))
	for n, s := range texts {
		i := strings.LastIndexByte(s, '=')
		if i < 1 {
			return nil, fmt.Errorf("%q is no GLOB=KIND", s)
		}
		if !utf8.ValidString(s[:i]) {
			return nil, fmt.Errorf("%q is not UTF-8", s)
		}
		kind, err := rra.ParseKind(s[i+1:])
		if err != nil || kind == rra.Compute {
			return nil, fmt.Errorf("%q: want GAUGE, COUNTER, DERIVE, DCOUNTER, DDERIVE or ABSOLUTE", s)
		}
		k[n].name, k[n].kind = glob.Path(s[:i]), kind
	}
	return k, nil
}

// of returns the kind of the series of a new token.
func (k kinds) of(name string) rra.Kind {
	for i := range k {
		if k[i].name.MatchString(name) {
			return k[i].kind
		}
	}
	return rra.Gauge
}
