package rrdtoolbench

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"time"
)

// httpListens is what a server says of the address of its pages.
var httpListens = regexp.MustCompile(`msg=listening for=http network=\w+ addr=(\S+)`)

// A listenWriter takes what a server says, and sends the address of its pages when it is ready.
type listenWriter struct {
	said  bytes.Buffer
	found chan string // the address; nil after it was sent
}

func (w *listenWriter) Write(data []byte) (int, error) {
	if w.found == nil {
		return len(data), nil
	}
	_, _ = w.said.Write(data) // it takes all
	if m := httpListens.FindSubmatch(w.said.Bytes()); m != nil && bytes.Contains(w.said.Bytes(), []byte("msg=ready")) {
		w.found <- string(m[1])
		w.found = nil
	}
	return len(data), nil
}

// startHTTP starts a server over the database of a folder, at a port of its own, and waits until it
// is ready.
func startHTTP(ctx context.Context, dir, rondo string) (*httpPainter, error) {
	args := []string{rondo, "serve", "--http=127.0.0.1:0", "--rrdcached=", "--collectd=", "--gmetric=", "--mono="}
	p := &process{cmd: command(ctx, dir, args), signal: true}
	found := make(chan string, 1)
	p.cmd.Stderr = io.MultiWriter(&p.errors, &listenWriter{found: found})
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	select {
	case addr := <-found:
		return &httpPainter{process: p, client: &http.Client{Transport: &http.Transport{}}, url: "http://" + addr, tags: make(map[string]bool)}, nil
	case <-time.After(patience):
		return nil, errors.Join(errors.New("the server does not get ready"), p.end())
	}
}
