package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/figures"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
)

// A manager runs the receivers.
type manager struct {
	*server
	sink *sink.Sink // lives as long as the server, because it counts what senders may still make
	// unanswered is the same sink for protocols whose senders get no answer.
	unanswered *sink.Sink
	fail       context.CancelCauseFunc

	mu     sync.Mutex      // guards what follows
	runs   []*run          // in the order of the configuration
	wanted map[string]bool // the protocols that have an address
	ended  bool            // stop was called: what a late reload opens ends at once
}

// A run is one receiver being served.
type run struct {
	settings Receiver
	receiver receivers.Receiver
	cancel   context.CancelFunc
	done     chan struct{} // closed after Serve has returned and its error has gone to manager.fail
}

func newManager(s *server) *manager {
	m := &manager{server: s, sink: sink.New(s.store, s.Limits)}
	m.unanswered = m.sink
	if s.member != nil {
		m.unanswered = m.sink.Over(s.member.Detour())
	}
	return m
}

// start opens and serves every receiver that has an address.
func (m *manager) start(w Ways, fail context.CancelCauseFunc) error {
	m.fail = fail
	m.sink.SetPolicy(w.Policy)
	m.want(w)
	for _, r := range w.Receivers {
		if err := m.open(r); err != nil {
			return err
		}
	}
	return nil
}

// Check returns a mistake in the settings of r, before anything is opened. It checks a receiver
// that is off, too: otherwise the mistake would show only when it is turned on.
func (r Receiver) Check(c receivers.Config) error {
	if r.Protocol.Check == nil {
		return nil
	}
	if err := r.Protocol.Check(c); err != nil {
		return fmt.Errorf("receiver %s: %w", r.Protocol.Name, err)
	}
	return nil
}

// ReadsFiles reports whether r has files to receive from.
func (r Receiver) ReadsFiles(c receivers.Config) bool {
	return r.Protocol.Enabled != nil && r.Protocol.Enabled(c)
}

// enabled reports whether r has an address or files to receive from.
func (s *server) enabled(r Receiver) bool {
	return r.Address.Addr != "" || len(s.activated[r.Protocol.Name]) > 0 || r.ReadsFiles(s.settings(r))
}

func (s *server) settings(r Receiver) receivers.Config {
	addr := r.Address.Addr
	if r.Protocol.Network == receivers.HTTP && addr != "" && s.http != nil {
		addr = s.http.Addr().String()
	}
	return receivers.Config{
		Address:   addr,
		Options:   r.Options,
		Gather:    cmp.Or(s.Gather, -1),
		MaxFuture: s.MaxFuture,
		Held:      s.Engine.Reorder > 0,
		Logger:    s.Logger.With("receiver", r.Protocol.Name),
	}
}

func (m *manager) open(r Receiver) error {
	name := r.Protocol.Name
	m.missed.Delete(name)
	if !m.enabled(r) {
		return nil
	}
	if r.Protocol.Network == receivers.HTTP {
		return m.openRoutes(r)
	}
	c := m.settings(r)
	files := m.activated[name]
	if len(files) > 0 {
		if err := adopt(&c, r.Protocol.Sockets(), files); err != nil {
			return fmt.Errorf("socket %s of systemd: %w", name, err)
		}
	}
	rec, err := r.Protocol.New(c, m.unanswered)
	if err != nil {
		if err := m.addressInUse(name, r.Address, err); err != nil {
			return err
		}
		c.Address = "" // the receiver works without the default address, because it reads files
		if !r.ReadsFiles(c) {
			return nil
		}
		if rec, err = r.Protocol.New(c, m.unanswered); err != nil {
			return fmt.Errorf("receiver %s: %w", name, err)
		}
	}
	if a := rec.Addr(); a != nil { // otherwise it reads files
		m.announce(name, a, r.Protocol.Secured != nil && r.Protocol.Secured(c))
	}
	m.serve(r, rec)
	return nil
}

// adopt makes c use copies of open sockets, the first for each network. The files themselves stay
// open for the next reload.
func adopt(c *receivers.Config, networks []string, files []*os.File) (err error) {
	for _, network := range networks {
		for _, f := range files {
			if network == "udp" {
				c.PacketConn, err = net.FilePacketConn(f)
			} else {
				c.Listener, err = net.FileListener(f)
			}
			if err == nil {
				break
			}
		}
	}
	if c.PacketConn != nil || c.Listener != nil {
		return nil
	}
	return err
}

func (m *manager) serve(settings Receiver, rec receivers.Receiver) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{settings: settings, receiver: rec, cancel: cancel, done: make(chan struct{})}
	m.mu.Lock()
	m.runs = append(m.runs, r)
	if m.ended {
		cancel()
	}
	m.mu.Unlock()
	go func() {
		defer close(r.done)
		if err := rec.Serve(ctx); err != nil {
			m.fail(fmt.Errorf("receiver %s: %w", settings.Protocol.Name, err))
		}
	}()
}

// end stops one receiver and returns when the samples it has read are stored.
func (m *manager) end(r *run) {
	r.cancel()
	<-r.done
	m.mu.Lock()
	m.runs = slices.DeleteFunc(m.runs, func(o *run) bool { return o == r })
	m.mu.Unlock()
}

// same reports whether o has the settings of r.
func (r Receiver) same(o Receiver) bool {
	return r.Address.Addr == o.Address.Addr && maps.EqualFunc(r.Options, o.Options, slices.Equal)
}

// reload restarts every receiver whose settings have changed, or whose files may have. A receiver
// with bad settings keeps running with the old ones; ok is then false.
func (m *manager) reload(w Ways) (ok bool) {
	m.sink.SetPolicy(w.Policy)
	m.want(w)
	var stay []string // receivers that keep the old settings
	for _, r := range w.Receivers {
		name := r.Protocol.Name
		old := m.run(name)
		err := m.replace(old, r)
		now := m.run(name)
		switch {
		case err != nil && now != nil:
			m.Logger.Error("configuration not taken: the receiver stays as it was", "receiver", name, "err", err)
			stay = append(stay, name)
		case err != nil:
			m.Logger.Error("configuration not taken: the receiver is off", "receiver", name, "err", err)
			stay = append(stay, name)
		case old != nil && now == nil:
			m.Logger.Info("no longer listening", "for", name)
		}
		if err == nil {
			m.tellChanged(w.Changed[name])
		}
	}
	m.tellChanged(w.Changed[""])
	if len(stay) > 0 {
		m.Logger.Warn("configuration read again, and not taken by all receivers", "not_by", strings.Join(stay, " "))
		return false
	}
	m.Logger.Info("configuration read again")
	return true
}

// tellChanged logs settings that have taken effect.
func (m *manager) tellChanged(all []Setting) {
	for _, x := range all {
		m.Logger.Info("a changed setting has taken effect", "setting", x.Name, "value", x.Value)
	}
}

func (m *manager) replace(old *run, r Receiver) error {
	if err := r.Check(m.settings(r)); err != nil {
		return err
	}
	if old == nil {
		return m.open(r)
	}
	if old.settings.same(r) && (r.Protocol.Reread == nil || !r.Protocol.Reread(m.settings(r))) {
		return nil // connections stay open
	}
	m.end(old)
	if err := m.open(r); err != nil {
		return errors.Join(err, m.open(old.settings))
	}
	return nil
}

// command passes a command to the receiver of a protocol and returns columns and rows.
func (m *manager) command(ctx context.Context, protocol string, args []string) ([]string, [][]string, error) {
	r := m.run(protocol)
	if r == nil {
		return nil, nil, fmt.Errorf("this server does not receive %q", protocol)
	}
	c, ok := r.receiver.(receivers.Controller)
	if !ok {
		return nil, nil, fmt.Errorf("the receiver %q takes no commands", protocol)
	}
	t, err := c.Control(ctx, args)
	return t.Columns, t.Rows, err
}

// stop ends every receiver.
func (m *manager) stop() {
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	for _, r := range m.all() {
		r.cancel() // all at once, so that their times of grace do not add up
	}
	for _, r := range m.all() {
		m.end(r)
	}
	for _, files := range m.activated {
		for _, f := range files {
			_ = f.Close() // a copy of a socket that is closed
		}
	}
}

func (m *manager) run(name string) *run {
	for _, r := range m.all() {
		if r.settings.Protocol.Name == name {
			return r
		}
	}
	return nil
}

func (m *manager) all() []*run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.runs)
}

func (m *manager) addrs() map[string]net.Addr {
	addrs := make(map[string]net.Addr)
	for _, r := range m.all() {
		if a := r.receiver.Addr(); a != nil {
			addrs[r.settings.Protocol.Name] = a
		}
	}
	return addrs
}

// figures returns what /metrics shows of the receivers.
func (m *manager) figures() []figures.Receiver {
	var all []figures.Receiver
	for _, r := range m.all() {
		p := r.settings.Protocol
		all = append(all, figures.Receiver{Name: p.Name, Prefix: p.PathPrefix(), Stats: r.receiver.Stats()})
	}
	return all
}
