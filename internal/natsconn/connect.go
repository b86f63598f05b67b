// Package natsconn connects to servers of NATS.
package natsconn

import (
	"time"

	"github.com/nats-io/nats.go"
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
// kept. A server that hangs is lost after half a minute. Options in more go before these.
func Connect(url string, more ...nats.Option) (*nats.Conn, error) {
	return nats.Connect(url, append([]nats.Option{
		nats.Name("rondo"), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(-1),
		nats.PingInterval(pingTime), nats.FlusherTimeout(writeTime),
	}, more...)...)
}
