package rpc

import (
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestStoppedServerIsToldOf: a server whose socket is open and that does not answer, as after
// SIGSTOP, is an error after a bound.
func TestStoppedServerIsToldOf(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, SocketName)) // which accepts nobody
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nobody was accepted
	if c, err := dialSocket(t.Context(), filepath.Join(dir, SocketName), 20*time.Millisecond); !errors.Is(err, ErrSilent) {
		t.Errorf("%v, %v", c, err)
	}
}
