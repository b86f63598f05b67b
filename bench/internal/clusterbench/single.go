package clusterbench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/engine/core"
)

// ServeStore serves a store in dir at address, as a node of a cluster serves a partition, until ctx
// ends. token is what callers must know.
func ServeStore(ctx context.Context, dir, address, token string) (err error) {
	s, err := core.Open(dir, core.Options{NoBackground: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p := &peer.Server{Partition: func(int) (core.Engine, error) { return s, nil }, Token: token}
	path, h, err := p.Handler()
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(path, h)
	server := &http.Server{Handler: mux, Protocols: new(http.Protocols), ReadHeaderTimeout: 10 * time.Second}
	server.Protocols.SetUnencryptedHTTP2(true)
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve returns the error
	defer stop()
	if err := server.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}

// node measures the load on a store in a process of its own, which receives it as a node does. It
// has no log of servers and no replica.
func (c *Config) node(ctx context.Context) (a Alone, err error) {
	address, err := freeAddress()
	if err != nil {
		return a, err
	}
	token, dir := rand.Text(), filepath.Join(c.Dir, "one-node")
	file := filepath.Join(c.Dir, "one-node.token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		return a, err
	}
	self, err := os.Executable()
	if err != nil {
		return a, err
	}
	p, err := start(c.Dir, "one-node", self, "store", dir, address, file)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, p.stop(), os.RemoveAll(dir)) }()
	conn, err := peer.NewNode("http://"+address, peer.Options{Token: token})
	if err != nil {
		return a, err
	}
	defer conn.Close()
	store := conn.Partition(0)
	if err := wait(ctx, "the store does not answer", func() (bool, error) {
		_, err := store.Labels(ctx, core.LabelQuery{})
		return err == nil, p.died()
	}); err != nil {
		return a, err
	}
	l, err := newLoad(ctx, c, store)
	if err != nil {
		return a, err
	}
	began, cpu, own := time.Now(), p.cpu(), ownCPU()
	samples, acks, err := l.run(ctx, c.Readings, 0)
	if err != nil {
		return a, fmt.Errorf("%w, its last words:\n%s", err, p.words())
	}
	a.Rate, a.CPU, a.Driver = float64(samples)/time.Since(began).Seconds(), perMillion(p.cpu()-cpu, samples), perMillion(ownCPU()-own, samples)
	a.AckP50, a.AckP99 = acks.Quantile(0.5).Seconds(), acks.Quantile(0.99).Seconds()
	return a, nil
}
