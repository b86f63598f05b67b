// Package natsconn connects to servers of NATS.
package natsconn

import (
	"net/url"
	"strings"
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
