package gmetric

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is Ganglia's metric protocol.
var Protocol = receivers.Protocol{
	Name:    "gmetric",
	Title:   "Ganglia: gmond and gmetric (the protocol has no security: who can send can write as any host)",
	Prefix:  strings.TrimSuffix(prefix, "/"),
	Network: "udp",
	Address: "127.0.0.1:8649",
	Usage:   "UDP `address` that gmond and gmetric send to; a multicast address is joined",
	Flags:   []receivers.Flag{flagGroup, flagAllow, flagHost, flagResolve, flagStep, flagExpire},
	Default: func(c receivers.Config, step int64) *rra.Definition {
		s, err := configure(c)
		if err != nil {
			s.step = gmetadStep
		}
		if step == 0 {
			step = s.step
		}
		md := defaultMetric(WordDouble)
		return md.define(step)
	},
	Check: func(c receivers.Config) error { _, err := configure(c); return err },
	New:   newServer,
}

var (
	flagGroup = receivers.Flag{
		Name: "gmetric-group", Repeat: true,
		Usage: "multicast `group[%interface]` to join, or default for Ganglia's own",
	}
	flagAllow = receivers.Flag{
		Name: "gmetric-allow", Repeat: true,
		Usage: "`network` that metrics are taken from, as 10.0.0.0/8 (default: all)",
	}
	flagHost = receivers.Flag{
		Name: "gmetric-host", Default: hostMessage,
		Usage: "name of a host, a `choice`: message (what it says) or source (its address)",
	}
	flagResolve = receivers.Flag{
		Name: "gmetric-resolve", Default: "false", Switch: true,
		Usage: "look up the DNS name of addresses that hosts are called by",
	}
	flagStep   = receivers.StepFlag("gmetric", strconv.Itoa(gmetadStep)+"s")
	flagExpire = receivers.Flag{
		Name: "gmetric-expire", Default: expireKeep,
		Usage: "what becomes of a series that is silent for longer than its dmax, an `action`: keep or delete",
	}
)

// The values of flags.
const (
	hostMessage = "message"
	hostSource  = "source"
	expireKeep  = "keep"
)

// group is where gmond sends to unless told otherwise.
const group = "239.2.11.71"

// settings is what the protocol's flags say.
type settings struct {
	groups  []string
	allow   []netip.Prefix // empty: all
	source  bool           // the sender's address names the host
	resolve bool
	step    int64
	remove  bool // series that have expired are deleted
}

func configure(cfg receivers.Config) (settings, error) {
	var s settings
	for _, g := range cfg.OptionValues(flagGroup) {
		if g == "default" {
			g = group
		}
		s.groups = append(s.groups, g)
	}
	for _, text := range cfg.OptionValues(flagAllow) {
		p, err := parsePrefix(text)
		if err != nil {
			return s, fmt.Errorf("--%s: %w", flagAllow.Name, err)
		}
		s.allow = append(s.allow, p)
	}
	switch host := cfg.Option(flagHost); host {
	case hostMessage:
	case hostSource:
		s.source = true
	default:
		return s, fmt.Errorf("--%s %q: want %s or %s", flagHost.Name, host, hostMessage, hostSource)
	}
	var err error
	if s.resolve, err = strconv.ParseBool(cfg.Option(flagResolve)); err != nil {
		return s, fmt.Errorf("--%s %q: want true or false", flagResolve.Name, cfg.Option(flagResolve))
	}
	if s.step, err = cfg.Step(flagStep); err != nil {
		return s, err
	}
	if err := new(metric).define(s.step).Validate(); err != nil {
		return s, fmt.Errorf("--%s: %w", flagStep.Name, err)
	}
	switch expire := cfg.Option(flagExpire); expire {
	case expireKeep:
	case expiryDelete:
		s.remove = true
	default:
		return s, fmt.Errorf("--%s %q: want %s or %s", flagExpire.Name, expire, expireKeep, expiryDelete)
	}
	return s, nil
}

// parsePrefix reads a CIDR, or an address that stands for itself.
func parsePrefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%q is no CIDR, such as 10.0.0.0/8", text)
	}
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(a.Unmap(), p.Bits()-96), nil
	}
	return p, nil
}

// A server is the receiver. All of it but the counters belongs to the goroutine of Serve.
type server struct {
	receivers.Counters
	cfg    receivers.Config
	sink   receivers.Sink
	set    settings
	udp    *sockets.UDP
	queue  *receivers.Queue
	cache  *cache
	news   newcomers
	held   held
	texts  texts
	labels *relabeler
	names  *names // nil: addresses are not resolved

	began  time.Time     // of the clock that second counts
	now    time.Time     // when the last Read returned
	second uint32        // since began
	at     rra.Time      // now in whole seconds, as gmetad's polls are
	every  time.Duration // tickEvery
	ticked time.Time     // when tick ran last
	stale  time.Time     // when references were thrown away last

	msg    Message
	sender sender
	sample [1]rra.Value
	digits []byte

	lines loglimit.Limit[string]
}

// A sender is where the datagram being read came from.
type sender struct {
	addr netip.Addr
	text [64]byte // addr
	n    int
}

// set makes the sender addr; the one before is often the same.
func (s *sender) set(addr netip.Addr) {
	if s.addr != addr || s.n == 0 {
		s.addr = addr
		s.n = len(addr.AppendTo(s.text[:0]))
	}
}

func (s *sender) host() []byte { return s.text[:s.n] }

func newServer(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	cfg = cfg.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := makeServer(cfg, set, sink)
	s.udp, err = sockets.ListenUDP(sockets.UDPOptions{
		Address: cfg.Address, Conn: cfg.PacketConn, Groups: set.groups, Traffic: &s.Traffic,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// makeServer makes a server without a socket.
func makeServer(cfg receivers.Config, set settings, sink receivers.Sink) *server {
	s := &server{cfg: cfg, sink: sink, set: set, cache: newCache(cacheEntries), began: cfg.Now(), every: tickEvery}
	s.labels = newRelabeler(sink, cfg)
	s.texts.init()
	s.held.init()
	if set.resolve {
		s.names = newNames()
	}
	return s
}

// Addr is where it listens.
func (s *server) Addr() net.Addr { return s.udp.Addr() }

// Close closes the socket.
func (s *server) Close() error {
	if err := s.udp.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Serve reads until ctx ends.
func (s *server) Serve(ctx context.Context) error {
	s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
	s.labels.start()
	if s.names != nil {
		s.names.start()
		defer s.names.stop()
	}
	err := s.udp.Serve(ctx, s.queue.Flush, func(n int) { s.take(ctx, n) })
	s.finish()
	return err
}

const (
	tickEvery = time.Second // how often what waits is looked at
	// the same while names are looked up, or much is to be handed over
	soon       = 20 * time.Millisecond
	staleEvery = time.Second // how often references may be thrown away
)

// take reads the n datagrams that have arrived.
func (s *server) take(ctx context.Context, n int) {
	s.begin()
	if s.names != nil {
		s.readWaiting()
	}
	for i := range n {
		s.datagram(s.udp.Packet(i), s.udp.From(i).Addr())
	}
	if s.ripe(n) {
		s.resolve(ctx)
	}
	s.tick(ctx)
	s.udp.WakeAt(s.wake())
	s.Series.Store(s.news.refs)
}

// begin takes note of the time.
func (s *server) begin() {
	s.now = s.cfg.Now()
	s.second = uint32(max(s.now.Sub(s.began), 0)/time.Second) + 1
	s.at = rra.Seconds(s.now.Unix())
	if s.now.Sub(s.stale).Abs() >= staleEvery && s.queue.Stale() {
		s.stale = s.now
		s.forgetSeries()
	}
	if s.cache.full() {
		s.restart()
	}
}

// forgetSeries has every reference resolved again, since the store has refused one.
func (s *server) forgetSeries() {
	for i := range s.cache.entries {
		e := &s.cache.entries[i]
		e.ref = 0
	}
	s.news.refs = 0
}

// restart empties the cache, which is full, but for what it cannot read back from the store.
func (s *server) restart() {
	held, described, asks := s.held, s.texts.byEntry, s.news.asks
	s.held.init()
	s.texts.init()
	s.news.asks, s.news.refs = nil, 0
	s.cache.restart(func(yield func(uint32, func(uint32)) bool) {
		for _, o := range held.order {
			if v := held.of(o); v != nil {
				yield(o.entry, func(i uint32) { s.held.put(i, v) })
			}
		}
		for i, d := range described {
			if d.listed || d.fresh {
				yield(i, func(i uint32) { s.texts.keep(i, d) })
			}
		}
		for _, i := range asks {
			yield(i, s.news.ask)
		}
	})
	for i := range s.cache.entries {
		if s.cache.entries[i].ref != 0 {
			s.news.refs++
		}
	}
}

// wake returns when take is to be called though nothing has arrived.
func (s *server) wake() time.Time {
	switch {
	case s.names != nil && s.names.waiting(), len(s.texts.dirty) >= describeMany:
		return time.Now().Add(soon)
	case s.held.len() > 0 || len(s.texts.dirty) > 0 || len(s.news.asks) > 0:
		return s.ticked.Add(s.every)
	}
	return time.Time{}
}

// ripe says whether newcomers are to be resolved after n datagrams: the more at once, the cheaper,
// but none waits long for others.
func (s *server) ripe(n int) bool {
	w := &s.news
	if len(w.values) == 0 && len(w.asks) == 0 {
		return false
	}
	now := time.Now()
	if !w.begun {
		w.begun, w.since = true, now
	}
	return !s.udp.Full(n) || w.full() || now.Sub(w.since) >= newcomerWait
}

// tick does what is due: it gives up on metadata that does not come, and hands over what is to be
// kept of paths.
func (s *server) tick(ctx context.Context) {
	now := time.Now() // not the receiver's clock, which says when things happened
	if now.Sub(s.ticked) < s.every {
		if len(s.texts.dirty) >= describeMany {
			s.texts.flush(s, false)
		}
		return
	}
	s.ticked = now
	if s.release(ctx) {
		s.resolve(ctx)
	}
	s.texts.flush(s, false)
}

// finish hands over what is left when Serve ends, and waits until it is stored. Values without
// metadata are left out: what they are made into now they would be for ever.
func (s *server) finish() {
	s.Drop(receivers.State, uint64(s.held.len()))
	if s.names != nil {
		s.Drop(receivers.State, uint64(len(s.names.held)))
	}
	s.texts.flush(s, true)
	var labels sync.WaitGroup
	labels.Go(s.labels.stop)
	s.queue.Stop()
	labels.Wait()
}

// datagram reads one datagram.
func (s *server) datagram(packet []byte, from netip.Addr) {
	if !s.allowed(from) {
		s.bad(from, &receivers.Error{Reason: receivers.Auth, What: "address is none of --" + flagAllow.Name})
		return
	}
	s.sender.set(from)
	m := &s.msg
	if err := m.Decode(packet); err != nil {
		s.bad(from, err)
		return
	}
	if m.Word == WordRequest {
		return // gmonds ask each other
	}
	host := m.HostName
	if len(host) == 0 || s.set.source && !m.Spoof {
		if host = s.sender.host(); s.names != nil {
			var ok bool
			if host, ok = s.name(packet); !ok {
				return
			}
		}
	}
	s.message(m, host)
	if s.news.full() {
		s.resolve(context.Background())
	}
}

func (s *server) allowed(from netip.Addr) bool {
	if len(s.set.allow) == 0 {
		return true
	}
	if from.Zone() != "" {
		from = from.WithZone("")
	}
	for _, p := range s.set.allow {
		if p.Contains(from) {
			return true
		}
	}
	return false
}

// message takes a message about the metric of a host.
func (s *server) message(m *Message, host []byte) {
	i, h, ok := s.cache.find(host, m.Name)
	if !ok {
		i = s.cache.add(host, m.Name, h)
		if string(m.Name) == heartbeat {
			s.cache.entries[i].flags |= beats
		}
	}
	e := &s.cache.entries[i]
	if e.dmax > 0 && s.second-e.seen > e.dmax && e.is(known) {
		s.expire(e, i)
	}
	if m.Word.Old() || m.Word == WordMetadata {
		s.describe(e, i, m)
	}
	if m.Word != WordMetadata {
		e.seen = s.second
		s.read(e, i, m)
	}
}

// bad counts and logs what is wrong with a datagram.
func (s *server) bad(from netip.Addr, err error) {
	s.Drop(receivers.ReasonOf(err), 1)
	source := from.String()
	if ok, held := s.lines.Allow(source, s.now); ok {
		s.cfg.Logger.Warn("gmetric: bad packet", "from", source, "err", err, "held_back_lines", held)
	}
}
