package jetstream

import (
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// duplicateWindow is how long a stream remembers the ids of messages.
const duplicateWindow = 2 * time.Minute

// Options say where streams are, and what they must keep.
type Options struct {
	// URL names the servers, separated by commas: nats://HOST:PORT.
	URL string
	// Connect are more options of the connection: credentials, TLS.
	Connect []nats.Option

	// MaxBytes is the size of a stream that Open makes. A full stream refuses records until it is
	// truncated.
	MaxBytes int64
	// Monitor are the addresses of the monitoring ports of all servers, http://HOST:PORT. Open asks
	// them whether the servers sync what they acknowledge. More than half of those that keep the
	// stream must answer. OpenReader does not ask.
	Monitor []string
	// Logger gets a line for each missing server; nil: it is not logged.
	Logger *slog.Logger

	// AcceptUnsynced accepts servers that do not sync each message, or that Monitor does not name.
	// A power cut of all servers may then lose the whole stream, and with it what was acknowledged.
	AcceptUnsynced bool
	// AcceptFewerReplicas accepts a stream on one server, and makes such a stream. The loss of that
	// server's disk loses the stream. It is for tests.
	AcceptFewerReplicas bool
}

// subjectOf returns the subject of a stream's messages.
func subjectOf(stream string) string { return "rondo.log." + stream }

// configOf returns the settings of a stream that keeps a log.
func configOf(name string, o Options) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: name, Subjects: []string{subjectOf(name)}, Description: "a log of rondo",
		Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxBytes: o.MaxBytes, Replicas: 3, AllowDirect: true, DenyDelete: true, Duplicates: duplicateWindow,
	}
	if o.AcceptFewerReplicas {
		c.Replicas = 1
	}
	return c
}
