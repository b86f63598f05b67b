// Package clusterflags has the flags that say which cluster is meant and how its nodes know each
// other, for rondo serve and the commands of rondo cluster.
package clusterflags

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
)

// Flags are the flags that say which cluster, of serve and of the commands of cluster.
type Flags struct {
	Servers clustered.Servers
	size    cli.ByteSize // of a log
	accept  []string
}

// What --cluster-accept takes.
const (
	acceptUnsynced = "unsynced"
	acceptOne      = "one-server"
)

// AddPlace adds the flags that say where a cluster is. usage is the text for --cluster.
func (c *Flags) AddPlace(f *pflag.FlagSet, usage string) {
	c.size = clustered.DefaultLogBytes
	f.StringVar(&c.Servers.URL, "cluster", "", "`addresses` of the servers of NATS that keep the logs of a cluster, nats://HOST:PORT separated by commas; "+usage)
	f.StringVar(&c.Servers.Name, "cluster-name", clustered.DefaultName, "`name` of the cluster: several may share servers")
	f.StringVar(&c.Servers.Credentials, "cluster-credentials", "", "`file` with the credentials of a user of NATS")
	f.StringSliceVar(&c.Servers.TLS, "cluster-tls", nil, "`file` of the authority of the servers' certificates, or three: certificate, key, authority")
}

func (c *Flags) AddFlags(f *pflag.FlagSet) {
	c.AddPlace(f, "empty: this machine's database is all there is")
	c.AddMonitor(f)
	f.Var(&c.size, "cluster-log", "`bytes` that the log of a partition may have: 8G")
	f.StringSliceVar(&c.accept, "cluster-accept", nil, "`risk` that is accepted: unsynced (servers that acknowledge before they sync), one-server (for trying it)")
}

// AddMonitor adds the flag that says where the servers report how they are.
func (c *Flags) AddMonitor(f *pflag.FlagSet) {
	f.StringSliceVar(&c.Servers.Monitor, "cluster-monitor", nil, "`URL` of the monitoring port of a server of NATS, one for each server; default: port 8222 of each")
}

// Apply returns the servers.
func (c *Flags) Apply() (clustered.Servers, error) {
	s := c.Servers
	s.LogBytes = int64(c.size)
	for _, a := range c.accept {
		switch a {
		case acceptUnsynced:
			s.AcceptUnsynced = true
		case acceptOne:
			s.AcceptOne = true
		default:
			return s, fmt.Errorf("--cluster-accept %s: want %s or %s", a, acceptUnsynced, acceptOne)
		}
	}
	if n := len(s.TLS); n != 0 && n != 1 && n != 3 {
		return s, errors.New("--cluster-tls: want one file, or three: certificate, key, authority")
	}
	return s, s.Check()
}

// LoadTLS returns the configuration of both ends of connections between nodes.
func LoadTLS(files []string) (*tls.Config, error) {
	if len(files) == 0 {
		return nil, nil
	}
	if len(files) != 3 {
		return nil, errors.New("want three files: certificate, key, authority")
	}
	cert, err := tls.LoadX509KeyPair(files[0], files[1])
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(files[2])
	if err != nil {
		return nil, err
	}
	all := x509.NewCertPool()
	if !all.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("%s: there is no certificate in it", files[2])
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert},
		RootCAs: all, ClientCAs: all, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

// PeerFlags say how nodes know each other, and whoever else uses their partitions.
type PeerFlags struct {
	token   string   // file
	NodeTLS []string // certificate, key, authority
}

func (p *PeerFlags) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&p.token, "cluster-token-file", "", "`file` with the token that nodes know; default: one that the cluster keeps at its servers")
	f.StringSliceVar(&p.NodeTLS, "cluster-node-tls", nil, "three `files`, certificate, key and authority, with which nodes know each other")
}

// ReadToken returns the token of the file; empty: there is no file.
func (p *PeerFlags) ReadToken() (string, error) {
	if p.token == "" {
		return "", nil
	}
	b, err := os.ReadFile(p.token)
	if err != nil {
		return "", fmt.Errorf("--cluster-token-file: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", fmt.Errorf("--cluster-token-file %s: there is no token in it", p.token)
	}
	return token, nil
}
