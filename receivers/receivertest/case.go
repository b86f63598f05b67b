package receivertest

import (
	"math"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Epoch is the time of message 0, and Now the time of the suite's clock, in seconds since 1970.
const (
	Epoch = 1700000000
	Now   = Epoch + 1_000_000
)

// A Case is what the suite needs to know about a receiver.
type Case struct {
	Protocol receivers.Protocol
	// Options are the values of its flags.
	Options map[string][]string
	// Address is where to listen; empty: a free port of loopback, or an empty folder for the
	// network "dir".
	Address string
	// Opening is sent at the beginning of a connection, before the first message; for TCP.
	Opening []byte
	// First turns a message into the first message of a connection; nil: they are the same. For
	// TCP.
	First func(message []byte) []byte
	// Limits names the flags that limit connections; for TCP.
	Limits ConnLimits
	// Greedy are beginnings of connections that announce more than they send; for TCP.
	Greedy [][]byte
	// Message returns message n of a sender. It holds one sample of one series, at n seconds after
	// Epoch, with the value n.
	Message func(n int) []byte
	// Every returns message n of a sender that says that it sends every apart seconds; nil: Message
	// does.
	Every func(n, apart int) []byte
	// Fixed says that the receiver is a test's own, whose series have one step.
	Fixed bool
	// Arrival says that messages have no time: a sample has the time of its arrival, which is Now.
	Arrival bool
	// Named says that messages name their series: all peers write the same one.
	Named bool
	// Garbage are messages that must do no harm. None may hold a sample of the series of Message.
	Garbage [][]byte
	// Dial connects to the receiver; nil: net.Dial.
	Dial func(t testing.TB, r receivers.Receiver) net.Conn
	// Request returns the request that brings a message to the server at url, such as
	// "http://127.0.0.1:80"; for HTTP.
	Request func(t testing.TB, url string, message []byte) *http.Request
	// Deliver, in place of Dial, brings a message to a receiver that has no socket: it writes a
	// file, say. It must not return before the receiver has looked at the message, because the next
	// message may replace it. Garbage is delivered to the same place, and may be looked at again.
	Deliver func(t testing.TB, r receivers.Receiver, message []byte)
}

// waitFor bounds every wait of the suite.
const waitFor = 20 * time.Second

// check fails the test if s is not the sample of message n.
func (c Case) check(t *testing.T, s Sample, n int) {
	t.Helper()
	if want := c.at(n); s.At != want {
		t.Fatalf("sample %d is at %v, want %v", n, s.At.Std(), want.Std())
	}
	if got := number(s); got != n {
		t.Fatalf("sample %d has the values %v, want %d", n, s.Values, n)
	}
}

// at is the time of message n.
func (c Case) at(n int) rra.Time {
	if c.Arrival {
		return rra.Seconds(Now)
	}
	return rra.Seconds(Epoch + int64(n))
}

// number returns the number of the message that s came with, by its value; -1: no message has it.
func number(s Sample) int {
	if len(s.Values) != 1 {
		return -1
	}
	n := int(s.Values[0].Bits)
	if s.Values[0].Tag == rra.TagFloat {
		n = int(math.Float64frombits(s.Values[0].Bits))
	}
	if v := s.Values[0]; v != rra.Float(float64(n)) && v != rra.Int(int64(n)) && v != rra.Uint(uint64(n)) {
		return -1
	}
	return n
}

// ConnLimits are the names of the flags that limit a receiver's connections. The suite skips the
// tests of flags without a name.
type ConnLimits struct {
	Conns     string // how many there may be
	HostConns string // how many one address may have
	Idle      string // how long a peer may be silent
}

// first returns message m as the first of its connection.
func (c *Case) first(m []byte) []byte {
	if c.First == nil {
		return m
	}
	return c.First(m)
}

// begin returns the bytes of a connection that sends n messages, from message first on.
func (c *Case) begin(first, n int) []byte {
	b := append(slices.Clone(c.Opening), c.first(c.Message(first))...)
	for i := 1; i < n; i++ {
		b = append(b, c.Message(first+i)...)
	}
	return b
}

type step struct {
	name string
	run  func(*testing.T, Case)
}
