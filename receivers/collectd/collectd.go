package collectd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is collectd's binary network protocol.
var Protocol = receivers.Protocol{
	Name:    "collectd",
	Network: "udp",
	Address: "127.0.0.1:25826",
	Usage:   "UDP `address` that collectd's network plugin sends to; a multicast address is joined",
	Flags:   []receivers.Flag{flagGroup, flagLevel, flagAuthFile, flagTypesDB},
	Check:   func(c receivers.Config) error { _, err := configure(c); return err },
	Reread:  func(c receivers.Config) bool { return len(c.OptionValues(flagTypesDB)) > 0 },
	Secured: func(c receivers.Config) bool { s, err := configure(c); return err == nil && s.level != None },
	New:     newServer,
}

func newServer(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	cfg = cfg.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, sink: sink, set: set, asks: receivers.NewResolver(sink, cfg, "collectd"), cache: newCache(cacheEntries)}
	s.UDP, err = sockets.ListenUDP(sockets.UDPOptions{
		Address: cfg.Address, Conn: cfg.PacketConn, Groups: set.groups, Gather: cfg.Gather, Traffic: &s.Traffic,
	})
	if err != nil {
		return nil, err
	}
	s.dec = Decoder{Level: set.level}
	if set.users != nil {
		s.dec.Users = set.users.users
		if set.users.open {
			cfg.Logger.Warn("users file can be read by others", "file", set.users.name)
		}
	}
	return s, nil
}

const (
	checkUsers  = time.Second // how often the users file is looked at
	notesMinute = 100         // notifications logged a minute
)

// Serve reads until ctx ends.
func (s *server) Serve(ctx context.Context) error {
	s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
	defer s.queue.Stop()
	return s.UDP.Serve(ctx, s.queue.Flush, func(n int) { s.datagrams(ctx, n) })
}

// datagrams reads the n datagrams that have arrived.
func (s *server) datagrams(ctx context.Context, n int) {
	s.now = s.cfg.Now()
	s.tick = s.asks.Tick(s.now)
	s.latest = s.cfg.Latest(s.now).Unix()
	if s.set.users != nil && s.now.Sub(s.checked) >= checkUsers {
		s.reload()
	}
	if s.queue.Stale() {
		s.cache.Clear()
	}
	for s.from = 0; s.from < n; s.from++ {
		err := s.dec.Decode(s.UDP.Packet(s.from), s)
		if err == nil && s.weak {
			err = errWeak
		} else if err != nil {
			s.Drop(receivers.ReasonOf(err)) // the rest of the datagram
		}
		s.weak = false
		if err != nil {
			s.bad(err)
		}
		if s.news.Full() {
			s.resolve(ctx)
		}
	}
	if s.news.Ripe(s.UDP.Full(n), s.now) {
		s.resolve(ctx)
	}
	if s.dec.Unverified {
		s.dec.Unverified = false
		s.unverified()
	}
	s.Series.Store(int64(s.cache.Len()))
}

// List takes one value list: see Handler.
func (s *server) List(v *ValueList) {
	at := v.Time.Seconds()
	if at < 2 || at > s.latest {
		s.cache.skip()
		s.Drop(receivers.State)
		return
	}
	if len(v.Kinds) > maxSources {
		s.cache.skip()
		s.Drop(receivers.Limit)
		return
	}
	e := s.cache.find(v)
	switch {
	case e != nil && e.Ref != 0:
		s.add(e.Ref, v)
	case e == nil || e.Due(s.tick):
		s.newcomer(v)
	default:
		s.Drop(e.Why)
	}
}

var errWeak = errors.New("auth: neither signed nor encrypted as --" + flagLevel.Name + " asks for")

// bad logs what is wrong with the datagram being read.
func (s *server) bad(err error) {
	from := s.UDP.From(s.from).Addr().String()
	if ok, held := s.lines.Allow(from, s.now); ok {
		s.cfg.Logger.Warn("collectd: bad packet", "from", from, "err", err, "held_back_lines", held)
	}
}

// Note keeps and logs a notification: see Handler.
func (s *server) Note(n *Notification) {
	if at := n.Time.Seconds(); at > s.latest {
		s.Drop(receivers.State)
		return
	}
	s.Notes.Add(1)
	key := NotePath(n)
	note := core.Note{
		Time: n.Time.Time(), Severity: n.Severity.String(), Text: receivers.Text(n.Message),
		Labels: n.labels(),
	}
	s.queue.Note(key, note)
	if m := s.now.Unix() / 60; m != s.noted {
		s.noted, s.notes = m, 0
	}
	if s.notes++; s.notes > notesMinute {
		return
	}
	args := []any{"severity", note.Severity, "time", note.Time.Std(), "text", note.Text}
	for _, l := range note.Labels {
		args = append(args, l.Name, l.Value)
	}
	s.cfg.Logger.Info("notification", args...)
}

func (s *server) unverified() {
	if ok, _ := s.lines.Allow("unverified", time.Time{}); ok { // once
		s.cfg.Logger.Warn("collectd: signatures are not verified, there is no users file", "flag", "--"+flagAuthFile.Name)
	}
}

// reload reads the users file again if it has changed.
func (s *server) reload() {
	s.checked = s.now
	changed, err := s.set.users.reload()
	if err != nil {
		s.lines.Log(s.cfg.Logger.Error, "users", s.now, "users file not read, the old users stay", "err", err)
	}
	if changed {
		s.dec.Users = s.set.users.users
		s.cfg.Logger.Info("users file read again", "file", s.set.users.name, "users", s.dec.Users.Len())
	}
}

// A server is the receiver. Only the goroutine of Serve uses it, except for the counters.
type server struct {
	receivers.Counters
	*sockets.UDP
	cfg   receivers.Config
	sink  receivers.Sink
	set   settings
	queue *receivers.Queue
	dec   Decoder
	cache *cache
	asks  *receivers.Resolver
	news  receivers.Newcomers[string, ValueList]

	now     time.Time // when the last Read returned
	tick    uint32    // of now
	latest  int64     // second beyond which a sample is of the future
	from    int       // the datagram being read
	values  [maxSources]rra.Value
	weak    bool      // the datagram being read holds something not well enough protected
	checked time.Time // when the users file was looked at
	noted   int64     // minute of the last notification
	notes   int       // logged in it

	lines loglimit.Limit[string]
}

// add adds v to the queue as a sample. It rounds the time to whole seconds, as collectd's rrdtool
// plugin does, so that the rows are those that the plugin makes.
func (s *server) add(ref core.Ref, v *ValueList) {
	for i := range v.Kinds {
		s.values[i] = v.Value(i)
	}
	s.queue.Add(ref, rra.Seconds(v.Time.Seconds()), s.values[:len(v.Kinds)])
}

// Drop counts one value list or notification that is left out: see Handler.
func (s *server) Drop(r receivers.Reason) {
	s.Counters.Drop(r, 1)
	s.weak = s.weak || r == receivers.Auth
}

var (
	flagGroup = receivers.Flag{
		Name: "collectd-group", Repeat: true,
		Usage: "multicast `group[%interface]` to join, or default for collectd's own",
	}
	flagLevel = receivers.Flag{
		Name: "collectd-security-level", Default: "none",
		Usage: "least protection of what is taken, a `level`: none, sign or encrypt",
	}
	flagAuthFile = receivers.Flag{
		Name: "collectd-auth-file", File: true,
		Usage: "`file` of users, a line each, as name: password; read again when it changes",
	}
	flagTypesDB = receivers.Flag{
		Name: "collectd-typesdb", Repeat: true, File: true,
		Usage: "types.db `file` beside collectd 5.12's own types, which are built in",
	}
)

// The groups that collectd's network plugin knows.
const (
	group4 = "239.192.74.66"
	group6 = "ff18::efc0:4a42"
)

// settings are the values of the protocol's flags.
type settings struct {
	level  Level
	users  *authFile // nil: none
	types  Types
	groups []string
}

func configure(cfg receivers.Config) (settings, error) {
	cfg = cfg.WithDefaults()
	s := settings{types: StandardTypes()}
	var err error
	if s.level, err = ParseLevel(cfg.Option(flagLevel)); err != nil {
		return s, flagLevel.Wrong(err)
	}
	if name := cfg.Option(flagAuthFile); name != "" {
		if s.users, err = openAuthFile(name); err != nil {
			return s, flagAuthFile.Wrong(err)
		}
	}
	if s.level != None && s.users == nil {
		return s, fmt.Errorf("--%s %s needs --%s", flagLevel.Name, s.level, flagAuthFile.Name)
	}
	for _, name := range cfg.OptionValues(flagTypesDB) {
		if err := s.types.Add(name, func(err error) { cfg.Logger.Warn("types.db line left out", "err", err) }); err != nil {
			return s, flagTypesDB.Wrong(err)
		}
	}
	for _, g := range cfg.OptionValues(flagGroup) {
		if g != "default" {
			s.groups = append(s.groups, g)
			continue
		}
		if host, _, _ := net.SplitHostPort(cfg.Address); !strings.Contains(host, ".") {
			s.groups = append(s.groups, group6)
		}
		s.groups = append(s.groups, group4)
	}
	return s, nil
}
