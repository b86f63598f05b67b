package server

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/rondo-db/rondo/cluster/shared"
	"github.com/rondo-db/rondo/cluster/spread"
	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/cmd/rondo/internal/health"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/figures"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/prom"
	"github.com/rondo-db/rondo/query/prom/alerts"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/query/web"
)

// A server is one running Config.
type server struct {
	Config
	started       time.Time
	rpc           *rpc.Server
	pages         *web.Server
	queries       *api.Handler      // Prometheus' API
	series        *prom.Storage     // what queries see
	sums          *spread.Evaluator // of the partitions of this node; nil: there is no cluster
	rules         *alerts.Manager
	figures       *figures.Sources
	reloading     chan struct{}     // closed when the reload that is under way has ended; nil: none is
	store         core.Engine       // folder, or all partitions of the cluster
	folder        *core.Store       // nil: it is not open, or the server is a node
	member        *clustered.Member // nil: the server is no node of a cluster
	shared        *shared.Pages     // dashboards of the cluster; nil: the server is no node
	middleware    *middleware.Handler
	http          *middleware.Server
	httpListeners []*middleware.Listener  // of http
	connections   *middleware.Connections // of http
	web           *webconfig.Keeper       // nil: there is no file
	daemonTLS     *webconfig.Keeper       // for rrdcached over TCP; nil: web's, or none
	local         *middleware.Server
	commands      *rpc.Commands // at local
	remote        *rpc.Commands // over HTTP
	receivers     *manager
	daemon        *daemon // nil: rrdcached's protocol is off
	backups       *backups.Keeper
	watch         health.Watch
	activated     map[string][]*os.File
	missed        sync.Map // the default addresses that other programs have taken, by name
}

// A daemon serves rrdcached's protocol.
type daemon struct {
	*rrdcached.Server
	addrs   []net.Addr
	secured []func() bool // whether each of them asks for credentials now
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// stop ends the connections and returns when the samples they have sent are stored.
func (d *daemon) stop() {
	d.cancel()
	d.running.Wait()
	d.Close()
}

// notify reports a change of state to systemd.
func (s *server) notify(state string) {
	if _, err := systemd.SdNotify(false, state); err != nil {
		s.Logger.Warn("systemd does not listen", "err", err)
	}
}

// notListening returns the default addresses that other programs have taken, as flags.
func (s *server) notListening() (flags []string) {
	s.missed.Range(func(name, addr any) bool {
		flags = append(flags, fmt.Sprintf("--%s %s", name, addr))
		return true
	})
	slices.Sort(flags)
	return flags
}

// addressInUse handles an address that cannot be opened. It returns an error if the user has named
// the address, and otherwise logs a warning.
func (s *server) addressInUse(name string, a Address, err error) error {
	if a.Named {
		return fmt.Errorf("--%s %s: %w", name, a.Addr, err)
	}
	log := s.Logger
	if name == "http" {
		log = log.With("instead", "--http 127.0.0.1:9181")
	}
	log.Warn("not listening: the default address cannot be had", "for", name, "addr", a.Addr, "err", err)
	s.missed.Store(name, a.Addr)
	return nil
}

// announce logs an address that the server listens on. It warns if other machines can reach the
// address and anybody may send there.
func (s *server) announce(name string, a net.Addr, secured bool) {
	addr := a.String()
	if a.Network() == "unix" {
		addr = absolute(addr)
	}
	s.Logger.Info("listening", "for", name, "network", a.Network(), "addr", addr)
	if middleware.BeyondLoopback(a) && !secured {
		s.Logger.Warn("reachable from beyond this machine without authentication", "for", name, "addr", addr)
	}
}

// pageAt returns the URL of the page at an address of the HTTP port; "" if browsers cannot open it.
func pageAt(a net.Addr, tls bool) string {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return ""
	}
	page := url.URL{Scheme: "http", Host: t.String(), Path: "/"}
	if t.IP.IsUnspecified() {
		page.Host = net.JoinHostPort("localhost", strconv.Itoa(t.Port))
	}
	if tls {
		page.Scheme = "https"
	}
	return page.String()
}

// absolute returns the absolute path of a folder.
func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
