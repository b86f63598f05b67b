package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// dial returns a client that speaks gRPC to url.
func dial(t *testing.T, url string) rondov1.RondoClient {
	t.Helper()
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p}
	t.Cleanup(tr.CloseIdleConnections)
	return rondov1.NewRondoClient(&http.Client{Transport: tr}, url, connect.WithGRPC())
}

// refusals of streams come with the first message, or with the stream.
func firstOf[A any](s *connect.ServerStreamForClient[A], err error) error {
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for s.Receive() {
		continue
	}
	return s.Err()
}

// TestStreamsOutliveRequests: a request is handled for so long and then cancelled. A stream lasts,
// occupies no place of requests, and ends at once when the server ends.
func TestStreamsOutliveRequests(t *testing.T) {
	b := smallBounds()
	b.Work, b.Read.Grace, b.Places[middleware.Lasting] = time.Second, time.Second, middleware.Share{Most: 6, Client: 6} // a busy machine takes some
	b.Places[middleware.Cheap], b.Places[middleware.Heavy] = middleware.Share{Most: 1, Client: 1}, middleware.Share{Most: 1, Client: 1}
	r := start(t, server.Config{HTTP: anyPorts, HTTPBounds: b, Grace: time.Hour})
	c := dial(t, r.url(""))
	makeSeries(t, c, "a")
	var live []*connect.ServerStreamForClient[rondov1.TailResponse]
	for range b.Places[middleware.Lasting].Most {
		s, err := c.Tail(t.Context(), &rondov1.TailRequest{Paths: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		if !s.Receive() {
			t.Fatal(s.Err())
		}
		live = append(live, s)
	}
	time.Sleep(b.Work + b.Work/4) // what bounds requests is over
	if _, err := c.Write(t.Context(), &rondov1.WriteRequest{Samples: []*rondov1.Sample{{Path: "a", Update: "1700000010:5"}}}); err != nil {
		t.Fatal(err)
	}
	for _, s := range live {
		for n := 0; n == 0; n += len(s.Msg().GetRows()) {
			if !s.Receive() {
				t.Fatal(s.Err())
			}
		}
	}
	ended := make(chan error)
	go func() { ended <- r.stop() }()
	for _, s := range live {
		for s.Receive() {
			continue
		}
		if connect.CodeOf(s.Err()) != connect.CodeUnavailable {
			t.Errorf("at the end of the server: %v", s.Err())
		}
		_ = s.Close()
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestStreamsAreBounded: one client may not have all places of streams.
func TestStreamsAreBounded(t *testing.T) {
	b := smallBounds()
	b.Places[middleware.Lasting], b.Patience = middleware.Share{Most: 2, Client: 1}, time.Millisecond
	r := start(t, server.Config{HTTP: anyPorts, HTTPBounds: b})
	c := dial(t, r.url(""))
	ctx, cancel := context.WithCancel(t.Context())
	s, err := c.Tail(ctx, &rondov1.TailRequest{})
	if err != nil || !s.Receive() {
		t.Fatal(err, s.Err())
	}
	if err := firstOf(c.Check(t.Context(), &rondov1.CheckRequest{})); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a second stream: %v", err)
	}
	cancel()
	eventually(t, "the place is free again", func() bool {
		return firstOf(c.Check(t.Context(), &rondov1.CheckRequest{})) == nil
	})
}

// TestImportManyHoldsWhatItMay: a file that is larger than the memory of an import ends it with an
// error, and many files that are not do not add up.
func TestImportManyHoldsWhatItMay(t *testing.T) {
	r := start(t, server.Config{HTTP: anyPorts})
	c := dial(t, r.url(""))
	makeSeries(t, c, "a")
	file, err := c.Export(t.Context(), &rondov1.ExportFileRequest{Path: "a"})
	if err != nil {
		t.Fatal(err)
	}
	send := func(files int, data []byte) (outcomes int, err error) {
		up, err := c.ImportMany(t.Context())
		if err != nil {
			return 0, err
		}
		go func() {
			for i := range files {
				if up.Send(&rondov1.ImportRequest{Path: fmt.Sprint("many/", i), Data: data, Complete: true}) != nil {
					break // Receive says why
				}
			}
			_ = up.CloseRequest()
		}()
		for {
			m, err := up.Receive()
			if errors.Is(err, io.EOF) {
				return outcomes, nil
			}
			if err != nil {
				return outcomes, err
			}
			if outcomes++; m.GetError() != "" {
				t.Errorf("%v", m)
			}
		}
	}
	if n, err := send(200, file.GetData()); n != 200 || err != nil {
		t.Errorf("%d files, %v", n, err)
	}
	up, err := c.ImportMany(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for range 16 {
			if up.Send(&rondov1.ImportRequest{Path: "long", Data: piece}) != nil {
				break
			}
		}
		_ = up.CloseRequest()
	}()
	if _, err := up.Receive(); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("a file of 16 MiB: %v", err)
	}
}
