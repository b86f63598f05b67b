package clustered

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/natsconn"
	"github.com/rondo-db/rondo/query/partial"
	"github.com/rondo-db/rondo/wal/jetstream"
)

// The defaults of Options.
const (
	DefaultName       = "rondo"
	DefaultPartitions = 16
	DefaultReplicas   = 2
	DefaultListen     = ":9181"
	DefaultLogBytes   = 8 << 30
	DefaultSpool      = 1 << 30
	monitorPort       = "8222"
)

// connectTime bounds one attempt to reach the servers.
const connectTime = 5 * time.Second

// Servers says where the servers of NATS are, and what is accepted of them.
type Servers struct {
	URL         string // nats://HOST:PORT, separated by commas
	Name        string // of the cluster: its streams and its bucket begin with it
	Credentials string // the file of a user of NATS; empty: none
	// TLS are files: of a certificate authority, or certificate, key and authority; or none.
	TLS []string
	// Monitor are the monitoring ports of all servers, http://HOST:PORT; none: port 8222 of each.
	Monitor  []string
	LogBytes int64 // the size of the stream of a partition
	// AcceptUnsynced accepts servers that acknowledge before they sync, AcceptOne accepts one
	// server in place of three.
	AcceptUnsynced, AcceptOne bool
}

// Options say how a server takes part in a cluster.
type Options struct {
	Servers
	Partitions, Replicas int // of a cluster that is made
	// Named and NamedReplicas: the user has named the number of partitions, or of replicas, and
	// gets an error if the cluster has another one.
	Named, NamedReplicas bool

	Node      string // the name of this node
	Listen    string // where the other nodes are listened for
	Advertise string // HOST:PORT by which they reach this one; empty: what Listen says
	Zone      string
	Version   string
	Token     string // what nodes must know; empty: one that the cluster keeps with its map
	// PeerTLS is of the port for other nodes, which then need a certificate; nil: no TLS.
	PeerTLS *tls.Config

	Dir       string       // the folder of the replicas
	SpoolDir  string       // the folder of what waits for leaders
	Spool     int64        // bytes that may wait there; 0: none
	Store     core.Options // of all partitions together
	MaxSeries int
	// DiskSpace returns what is free on the disk of Dir, and its size, in bytes; zeros: not known.
	// Default: nil, nobody knows.
	DiskSpace func() (free, size int64)
	Logger    *slog.Logger
	// Expressions evaluates expressions over a partition, for other nodes; see peer.Server.
	Expressions func(ctx context.Context, partition int, e core.Engine, q partial.Question) (*partial.Answer, error)
}

// Check refuses options that no node can work with.
func (o *Options) Check() error {
	if err := o.Servers.Check(); err != nil {
		return err
	}
	switch {
	case !coord.ValidName(o.Node):
		return fmt.Errorf("--node %q: want up to 63 letters, digits, '-', '_' and '.'", o.Node)
	case o.Partitions < 1 || o.Partitions > placement.MaxPartitions:
		return fmt.Errorf("--cluster-partitions %d: want 1 to %d", o.Partitions, placement.MaxPartitions)
	case o.Replicas < 1 || o.Replicas > placement.MaxReplicas:
		return fmt.Errorf("--cluster-replicas %d: want 1 to %d", o.Replicas, placement.MaxReplicas)
	}
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return fmt.Errorf("--cluster-listen %s: want HOST:PORT", o.Listen)
	}
	if o.Advertise != "" {
		return checkAdvertise(o.Advertise)
	}
	return nil
}

// checkAdvertise refuses addresses that other nodes cannot use.
func checkAdvertise(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return fmt.Errorf("--advertise %s: want HOST:PORT", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("--advertise %s: want HOST:PORT with a port from 1 to 65535", address)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		return fmt.Errorf("--advertise %s: other nodes cannot reach %s: name the address of this machine", address, host)
	}
	return nil
}

// warnIgnored says so if the user has named another number of partitions, or of replicas, than the
// cluster has.
func (o *Options) warnIgnored(partitions, replicas int) {
	if o.Named && o.Partitions != partitions {
		o.Logger.Warn("--cluster-partitions is ignored: the cluster was made with another number of partitions, which never changes",
			"cluster", o.Name, "has", partitions, "named", o.Partitions)
	}
	if o.NamedReplicas && o.Replicas != replicas {
		o.Logger.Warn("--cluster-replicas is ignored: the cluster was made with another number of replicas",
			"cluster", o.Name, "has", replicas, "named", o.Replicas)
	}
}

// Check refuses addresses that are none, and files that cannot be used.
func (s *Servers) Check() error {
	for _, a := range s.urls() {
		if u, err := url.Parse(a); err != nil || u.Host == "" || (u.Scheme != "nats" && u.Scheme != "tls") {
			return fmt.Errorf("--cluster %s: want nats://HOST:PORT, or several separated by commas", natsconn.Redacted(a))
		}
	}
	if !validName(s.Name) {
		return fmt.Errorf("--cluster-name %q: want up to 32 letters, digits, '-' and '_'", s.Name)
	}
	if s.LogBytes < 1<<20 {
		return errors.New("--cluster-log: want 1M or more")
	}
	for _, a := range s.Monitor {
		if u, err := url.Parse(a); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("--cluster-monitor %s: want http://HOST:PORT, one for each server, separated by commas", a)
		}
	}
	return s.checkFiles()
}

// checkFiles refuses files that the client of NATS could not use: it would try again without end.
func (s *Servers) checkFiles() error {
	if s.Credentials != "" {
		if err := checkCredentials(s.Credentials); err != nil {
			return fmt.Errorf("--cluster-credentials: %w", err)
		}
	}
	if len(s.TLS) == 0 {
		return nil
	}
	if len(s.TLS) == 3 {
		if _, err := tls.LoadX509KeyPair(s.TLS[0], s.TLS[1]); err != nil {
			return fmt.Errorf("--cluster-tls: %w", err)
		}
	}
	authority := s.TLS[len(s.TLS)-1]
	b, err := os.ReadFile(authority)
	if err != nil {
		return fmt.Errorf("--cluster-tls: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(b) {
		return fmt.Errorf("--cluster-tls %s: there is no certificate in it", authority)
	}
	return nil
}

// errNoCredentials says that a file is of another kind.
var errNoCredentials = errors.New("want a file of credentials (.creds), with the JWT of a user of NATS and its seed")

// checkCredentials reads a file as the client of NATS does at each connection. The client takes
// whatever a file has for a JWT if no lines mark one.
func checkCredentials(file string) error {
	wrong := func(why error) error {
		return &fs.PathError{Op: "read", Path: file, Err: fmt.Errorf("%w: %w", why, errNoCredentials)}
	}
	if i, err := os.Stat(file); err == nil && i.IsDir() {
		return wrong(errors.New("it is a folder"))
	}
	if _, err := os.ReadFile(file); err != nil {
		return err
	}
	var o nats.Options
	if err := nats.UserCredentials(file)(&o); err != nil {
		return wrong(err)
	}
	token, err := o.UserJWT()
	if err != nil {
		return wrong(err)
	}
	if !isJWT(token) {
		return wrong(errors.New("there is no JWT in it"))
	}
	if _, err := o.SignatureCB([]byte("nonce")); err != nil {
		return wrong(errors.New("there is no seed in it"))
	}
	return nil
}

// isJWT says whether text has the form of a JWT: a header in JSON, claims and a signature.
func isJWT(text string) bool {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return false
	}
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	return err == nil && json.Valid(header)
}

// validName says whether name can be part of the names of streams and buckets.
func validName(name string) bool {
	return name != "" && len(name) <= 32 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

func (s *Servers) urls() []string { return strings.Split(s.URL, ",") }

// monitors returns the monitoring addresses.
func (s *Servers) monitors() (all []string) {
	if len(s.Monitor) > 0 {
		return s.Monitor
	}
	for _, a := range s.urls() {
		if u, err := url.Parse(a); err == nil {
			all = append(all, "http://"+net.JoinHostPort(u.Hostname(), monitorPort))
		}
	}
	return all
}

func (s *Servers) connect() (all []nats.Option) {
	if s.Credentials != "" {
		all = append(all, nats.UserCredentials(s.Credentials))
	}
	switch len(s.TLS) {
	case 1:
		all = append(all, nats.RootCAs(s.TLS[0]))
	case 3:
		all = append(all, nats.ClientCert(s.TLS[0], s.TLS[1]), nats.RootCAs(s.TLS[2]))
	}
	return all
}

// bucket returns where what nodes announce is.
func (s *Servers) bucket() natskv.Options {
	return natskv.Options{URL: s.URL, Connect: s.connect(), Bucket: "rondo-" + s.Name, AcceptFewerReplicas: s.AcceptOne}
}

// existing connects to the bucket of a cluster that there is. Its nodes have accepted the servers.
func (s *Servers) existing(ctx context.Context) (*natskv.Store, error) {
	o := s.bucket()
	o.MustExist, o.AcceptFewerReplicas = true, true
	return natskv.Connect(ctx, o)
}

func (s *Servers) logs() jetstream.Options {
	return jetstream.Options{
		URL: s.URL, Connect: s.connect(), MaxBytes: s.LogBytes, Monitor: s.monitors(),
		AcceptUnsynced: s.AcceptUnsynced, AcceptFewerReplicas: s.AcceptOne,
	}
}

// stream is the name of the stream of a partition.
func (s *Servers) stream(partition int) string {
	return "rondo-" + s.Name + "-p" + strconv.Itoa(partition)
}
