package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/wal/stream"
)

// Options say where the stream is, and what it must keep.
type Options struct {
	// URL names the servers, separated by commas: nats://HOST:PORT.
	URL string
	// Connect are more options of the connection: credentials, TLS.
	Connect []nats.Option

	// Stream is the name of the stream. Its only subject is "rondo.log." and the name.
	Stream string
	// MaxBytes is the size of a stream that Open makes. A full stream refuses records until it is
	// truncated.
	MaxBytes int64
	// Monitor are the addresses of the monitoring ports of all servers, http://HOST:PORT. Open asks
	// them whether the servers sync what they acknowledge.
	Monitor []string

	// AcceptUnsynced accepts servers that do not sync each message, or that Monitor does not name.
	// A power cut of all servers may then lose the whole stream, and with it what was acknowledged.
	AcceptUnsynced bool
	// AcceptFewerReplicas accepts a stream on one server, and makes such a stream. The loss of that
	// server's disk loses the stream. It is for tests.
	AcceptFewerReplicas bool

	// Log says how the log writes.
	Log stream.Options
}

// Open connects to the servers and becomes the writer of the stream. If a setting would lose data,
// the error is a *SettingError for each.
func Open(ctx context.Context, o Options) (*stream.Log, error) {
	s, err := Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	l, err := stream.Open(ctx, s, o.Log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open stream %s: %w", o.Stream, err), s.Close())
	}
	return l, nil
}

// Connect connects to the servers, makes the stream if it is missing, and checks the settings.
func Connect(ctx context.Context, o Options) (*Server, error) {
	options := append([]nats.Option{
		nats.Name("rondo"), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(-1),
	}, o.Connect...)
	nc, err := nats.Connect(o.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", o.URL, err)
	}
	s := &Server{nc: nc, connect: o.Connect, stream: o.Stream, subject: subjectOf(o.Stream)}
	if s.js, err = jetstream.New(nc); err == nil {
		err = s.prepare(ctx, o)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return s, nil
}

// subjectOf returns the subject of a stream's messages.
func subjectOf(stream string) string { return "rondo.log." + stream }

// prepare finds or makes the stream, and checks it and its servers.
func (s *Server) prepare(ctx context.Context, o Options) error {
	if !atLeast(s.nc.ConnectedServerVersion()) { // before it is asked for what it may not know
		return &SettingError{Where: "server " + s.nc.ConnectedServerName(), Setting: "version", Is: s.nc.ConnectedServerVersion(), Line: "nats-server " + leastVersion + " or later", Why: whyVersion}
	}
	st, err := s.js.Stream(ctx, o.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if o.MaxBytes <= 0 {
			return fmt.Errorf("make stream %s: its size is not set", o.Stream)
		}
		st, err = s.js.CreateStream(ctx, configOf(o))
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", o.Stream, err)
	}
	info := st.CachedInfo()
	s.jsStream, s.most = st, min(int(s.nc.MaxPayload())-headerBytes, messageBytes)
	if c := int(info.Config.MaxMsgSize); c > 0 {
		s.most = min(s.most, c-headerBytes)
	}
	return errors.Join(checkStream(info.Config, o), checkServers(ctx, serversOf(s.nc, info), o))
}

// configOf returns the settings of a stream that keeps a log.
func configOf(o Options) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: o.Stream, Subjects: []string{subjectOf(o.Stream)}, Description: "a log of rondo",
		Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxBytes: o.MaxBytes, Replicas: 3, AllowDirect: true, DenyDelete: true, Duplicates: duplicateWindow,
	}
	if o.AcceptFewerReplicas {
		c.Replicas = 1
	}
	return c
}
