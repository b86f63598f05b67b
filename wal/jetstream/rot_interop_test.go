package jetstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/natstest"
	"github.com/rondo-db/rondo/wal"
	log "github.com/rondo-db/rondo/wal/jetstream"
	"github.com/rondo-db/rondo/wal/stream"
)

// flip changes a bit of each place in a server's blocks of messages that has the bytes of rec.
func flip(t *testing.T, dir string, rec []byte) (flipped int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".blk" || !strings.Contains(path, "$G") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if i := bytes.Index(b, rec); i >= 0 {
			b[i+len(rec)/2] ^= 4
			flipped++
			return os.WriteFile(path, b, 0o600)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return flipped
}

// stop ends a server by SIGTERM.
func stop(t *testing.T, p *natstest.Process) {
	t.Helper()
	for syscall.Kill(p.PID(), syscall.SIGTERM) == nil { // it is there
		if t.Context().Err() != nil {
			t.Fatal("a server does not stop")
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.Kill() // waits
}

// TestBadServer: one of three servers has damaged files, and then hangs.
func TestBadServer(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := natstest.Three(t)
	t.Run("FlippedBit", func(t *testing.T) { flippedBit(t, c) })
	t.Run("Hangs", func(t *testing.T) { serverHangs(t, c) }) // for good
}

// flippedBit flips a bit in the file of one server. A reader that is connected to this server finds
// it, names the server, and reads the record from another one.
func flippedBit(t *testing.T, c *natstest.Cluster) {
	o := options{Stream: "log", Options: log.Options{URL: c.URLs(), Monitor: c.Monitors(), MaxBytes: 64 << 20}}
	o.Log.Patience = 2 * time.Minute
	l := openAmong(t, o)
	recs := make([][]byte, 50)
	r := rand.NewChaCha8([32]byte{1})
	for i := range recs {
		recs[i] = make([]byte, 2000)
		_, _ = r.Read(recs[i]) // never fails
		if _, err := l.Enqueue(recs[i]); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	worn := (leader(t, c, "log") + 1) % 3
	// A server that runs has the message in memory. One that was killed reads its files and finds
	// the damage; one that was stopped relies on its index.
	stop(t, c.Nodes[worn])
	if n := flip(t, c.Nodes[worn].Dir, recs[24]); n != 1 {
		t.Fatalf("the record is in %d files of the server, want 1", n)
	}
	if c.Nodes[worn] = c.Again[worn](); c.Nodes[worn] == nil {
		t.Fatal("a killed server does not start again")
	}
	var said strings.Builder
	o.URL, o.AcceptUnsynced = c.Nodes[worn].URL, true
	var reader *stream.Reader
	var err error
	for deadline := time.Now().Add(2 * time.Minute); ; { // the server has just been started
		reader, err = openReader(t, o, stream.ReaderOptions{Logger: slog.New(slog.NewTextHandler(&said, nil))})
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	// Until the server is current others answer in its place.
	named := fmt.Sprintf("replica=n%d", worn+1)
	enough := errors.New("enough")
	for deadline := time.Now().Add(time.Minute); !strings.Contains(said.String(), named) && time.Now().Before(deadline); {
		err = reader.Tail(t.Context(), 1, func(p wal.Pos, rec []byte) error {
			if !bytes.Equal(rec, recs[p-1]) {
				return fmt.Errorf("position %d has another record", p)
			}
			if p == 50 {
				return enough
			}
			return nil
		})
		if err != enough {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(said.String(), named) {
		t.Errorf("%s is not named in the log:\n%s\n%s", named, said.String(), natstest.LogOf(c.Nodes[worn].Dir))
	}
}
