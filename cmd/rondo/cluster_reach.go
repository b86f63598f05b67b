package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
)

// peerFlags say how nodes know each other, and whoever else uses their partitions.
type peerFlags struct {
	token   string   // file
	nodeTLS []string // certificate, key, authority
}

func (p *peerFlags) addFlags(f *pflag.FlagSet) {
	f.StringVar(&p.token, "cluster-token-file", "", "`file` with the token that nodes know; default: one that the cluster keeps at its servers")
	f.StringSliceVar(&p.nodeTLS, "cluster-node-tls", nil, "three `files`, certificate, key and authority, with which nodes know each other")
}

// readToken returns the token of the file; empty: there is no file.
func (p *peerFlags) readToken() (string, error) {
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

// reachFlags are the flags of commands that reach a cluster from outside.
type reachFlags struct {
	clusterFlags
	peerFlags
}

func (r *reachFlags) addFlags(f *pflag.FlagSet) {
	r.addPlace(f, "they are needed")
	r.peerFlags.addFlags(f)
}

// dialTime bounds how long a command waits for the servers of a cluster.
const dialTime = 15 * time.Second

// dial connects to the cluster. The error may say that a node refuses calls from here for good.
func (r *reachFlags) dial(ctx context.Context) (_ *clustered.Client, err error) {
	if r.servers.URL == "" {
		return nil, errors.New("--cluster nats://HOST:PORT,… is needed: it says which cluster")
	}
	var o clustered.DialOptions
	if o.Servers, err = r.apply(); err != nil {
		return nil, err
	}
	if o.Token, err = r.readToken(); err != nil {
		return nil, err
	}
	if o.PeerTLS, err = nodeTLS(r.nodeTLS); err != nil {
		return nil, fmt.Errorf("--cluster-node-tls: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := clustered.Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.CheckAdmitted(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster %s: %w", o.Name, err), c.Close())
	}
	return c, nil
}
