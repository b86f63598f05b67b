package writebench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/bench/internal/receivebench"
)

// A Server is a running program that takes remote write.
type Server struct {
	URL    string // where it listens, without a path
	Client *http.Client
	cmd    *exec.Cmd
	cancel context.CancelFunc
	again  atomic.Int64
}

// Start starts a program in dir and waits until it takes requests. It is used over so many
// connections. Call Stop.
func Start(ctx context.Context, p Program, dir string, connections int) (*Server, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd, err := p.Start(ctx, addr, dir)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	s := &Server{URL: "http://" + addr, cmd: cmd, cancel: cancel, Client: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: connections},
	}}
	if err := s.ready(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Stop kills the program.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill() // it is not needed any more
	_ = s.cmd.Wait()         // it was killed
	s.cancel()
}

// CPU returns the processor time that the program has used.
func (s *Server) CPU() (time.Duration, error) {
	user, system, err := receivebench.ProcessTimes(s.cmd.Process.Pid)
	return user + system, err
}

// ready waits until the program takes requests.
func (s *Server) ready(ctx context.Context) error {
	for range 600 {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/-/ready", http.NoBody)
		if err != nil {
			return err
		}
		if res, err := s.Client.Do(q); err == nil {
			_ = res.Body.Close() // only the status is read
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("it does not become ready")
}

// Write sends one request, again if it is asked to. It returns how long that took.
func (s *Server) Write(ctx context.Context, body []byte) (time.Duration, error) {
	began := time.Now()
	for {
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/api/v1/write", bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		q.Header.Set("Content-Type", "application/x-protobuf")
		q.Header.Set("Content-Encoding", "snappy")
		res, err := s.Client.Do(q)
		if err != nil {
			return 0, err
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close() // it has been read
		switch {
		case err != nil:
			return 0, err
		case res.StatusCode/100 == 2:
			return time.Since(began), nil
		case res.StatusCode != http.StatusServiceUnavailable && res.StatusCode != http.StatusTooManyRequests:
			return 0, fmt.Errorf("it answers %s: %.300s", res.Status, text)
		}
		s.again.Add(1)
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
