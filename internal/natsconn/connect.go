// Package natsconn connects to servers of NATS.
package natsconn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rondo-db/rondo/internal/loglimit"
)

const (
	// reconnectWait is the time between attempts to connect again.
	reconnectWait = 100 * time.Millisecond
	// pingTime is how often a server must show that it is there; it is lost after the third time.
	pingTime = 10 * time.Second
	// writeTime is how long a server may take nothing of what is sent to it.
	writeTime = 10 * time.Second
)

// Connect connects to one of the servers in url, which commas separate. When the server is lost the
// connection goes to another one, and tries without end. What is sent meanwhile is refused, and not
// kept. A server that hangs is lost after half a minute. A server that refuses the login is tried
// again, too: its passwords may be changed first, and those here next. log, which may be nil, gets
// what servers refuse. Options in more go before these.
func Connect(url string, log *slog.Logger, more ...nats.Option) (*nats.Conn, error) {
	return nats.Connect(url, append([]nats.Option{
		nats.Name("rondo"), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(-1),
		nats.PingInterval(pingTime), nats.FlusherTimeout(writeTime), nats.IgnoreAuthErrorAbort(), logged(log),
	}, more...)...)
}

// logged returns the option by which a log gets what servers refuse: each thing once a minute.
// Without it the client writes to standard error.
func logged(log *slog.Logger) nats.Option {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	var lines loglimit.Limit[string]
	return nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		lines.Log(log.Warn, err.Error(), time.Now(), "a server of NATS refuses what this process asks for", "err", err)
	})
}

// Explain returns err with what the servers have said last, if err says only that they were not
// reached or have not answered: that they refuse the login, or what was sent to them.
func Explain(nc *nats.Conn, err error) error {
	unreached := errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionClosed)
	unanswered := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders)
	if !unreached && !unanswered {
		return err
	}
	last := nc.LastError()
	switch {
	case !nc.IsConnected() && last == nil:
		return fmt.Errorf("not connected: %w", err)
	case !nc.IsConnected():
		return fmt.Errorf("not connected: %w: %w", last, err)
	case errors.Is(last, nats.ErrPermissionViolation):
		return fmt.Errorf("%w: %w", last, err)
	}
	return err
}

// Redacted returns addresses, which commas separate, without the passwords and tokens that they may
// have.
func Redacted(addresses string) string {
	all := strings.Split(addresses, ",")
	for i, a := range all {
		u, err := url.Parse(a)
		switch {
		case err != nil && strings.Contains(a, "@"):
			all[i] = "xxxxx" + a[strings.LastIndex(a, "@"):]
		case err != nil || u.User == nil:
		default:
			if _, ok := u.User.Password(); !ok { // a token stands in place of a user
				u.User = url.User("xxxxx")
			}
			all[i] = u.Redacted()
		}
	}
	return strings.Join(all, ",")
}

const (
	// muteTime is how long calls may fail before another server is tried.
	muteTime = 3 * time.Second
	// hopAgain is the time between two changes of the server.
	hopAgain = 10 * time.Second
)

// A Hop lets a connection go to another server when no call has been answered for 3 s. A server
// that is cut off from the others, or hangs, keeps its clients: the client stays with it. The zero
// value is ready to use. Its methods may be called concurrently.
type Hop struct {
	mu     sync.Mutex
	mute   time.Time // since when all calls have failed; zero: they have not
	failed time.Time // the last one of them
	last   time.Time // when the connection went to another server
}

// Heard takes in whether a call was answered, be it with a refusal.
func (h *Hop) Heard(nc *nats.Conn, answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	before := h.failed
	if !answered {
		h.failed = now
	}
	switch {
	case answered:
		h.mute = time.Time{}
	case h.mute.IsZero(), now.Sub(before) >= hopAgain: // a call now and then
		h.mute = now
	case now.Sub(h.mute) >= muteTime && now.Sub(h.last) >= hopAgain:
		h.mute, h.last = time.Time{}, now
		_ = nc.ForceReconnect() // an error says that the connection is closed
	}
}
