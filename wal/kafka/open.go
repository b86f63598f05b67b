package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/rondo-db/rondo/wal/stream"
)

// Options say where the topic is, and what it must keep.
type Options struct {
	// Brokers are addresses to begin with, HOST:PORT.
	Brokers []string
	// Connect are more options of the connection: TLS, credentials.
	Connect []kgo.Opt
	// Client is a connection that several logs share. With it, Brokers and Connect are not used,
	// and Close leaves it open. See Dial.
	Client *kgo.Client

	// Topic is the name of the topic. It has one partition, and nobody else writes to it.
	Topic string

	// AcceptUnsynced accepts a topic whose brokers do not sync each message. A power cut of all
	// brokers may then lose what was acknowledged last.
	AcceptUnsynced bool
	// AcceptFewerReplicas accepts a topic on one broker, and makes such a topic. The loss of that
	// broker's disk loses the log. It is for tests.
	AcceptFewerReplicas bool

	// Log says how the log writes.
	Log stream.Options
}

const (
	// answerTime is how long the brokers have for what is no append.
	answerTime = 5 * time.Second
	// dialTime is how long a broker has to take a connection.
	dialTime = 2 * time.Second
)

// Dial makes a connection that several logs may share. It does not wait for a broker.
func Dial(o Options) (*kgo.Client, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.ClientID("rondo"), kgo.SeedBrokers(o.Brokers...), kgo.MinVersions(kversion.V3_0_0()),
		kgo.DialTimeout(dialTime), kgo.RetryTimeout(answerTime),
	}, o.Connect...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to %v: %w", o.Brokers, err)
	}
	return client, nil
}

// Open connects to the brokers and becomes the writer of the topic. If a setting would lose data,
// the error is a *stream.SettingError for each.
func Open(ctx context.Context, o Options) (*stream.Log, error) {
	s, err := Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	l, err := stream.Open(ctx, s, o.Log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open topic %s: %w", o.Topic, err), s.Close())
	}
	return l, nil
}

// OpenReader connects to the brokers and reads the topic without becoming its writer. The topic and
// its settings are as for Open.
func OpenReader(ctx context.Context, o Options, how stream.ReaderOptions) (*stream.Reader, error) {
	s, err := Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	r, err := stream.OpenReader(ctx, s, how)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read topic %s: %w", o.Topic, err), s.Close())
	}
	return r, nil
}

// Connect connects to the brokers, makes the topic if it is missing, and checks the settings.
func Connect(ctx context.Context, o Options) (*Server, error) {
	s := &Server{client: o.Client, topic: o.Topic}
	if s.client == nil {
		client, err := Dial(o)
		if err != nil {
			return nil, err
		}
		s.client, s.own = client, true
	}
	if err := s.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
