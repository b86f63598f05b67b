package backend

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPipelines has two commands work on one database while one writes what the other reads, and no
// server runs: neither waits for the database until the other has given up.
func TestPipelines(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	start := func(in io.Reader, out io.Writer, errors io.Writer, args ...string) int {
		c := &Call{Stdin: in, Stdout: out, Stderr: errors, LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now, Plain: true}
		code, err := Run(context.Background(), c, Target{DB: db}, args)
		if err != nil {
			_, _ = fmt.Fprintln(errors, err) // the caller reads what it can
		}
		return code
	}
	verb := func(args ...string) string {
		t.Helper()
		var out, errors bytes.Buffer
		if code := start(strings.NewReader(""), &out, &errors, args...); code != 0 || errors.Len() > 0 {
			t.Fatalf("%q: exit code %d, %s", args, code, &errors)
		}
		return out.String()
	}
	verb("create", "a", "-s", "10", "-b", "1700000000", "DS:x:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10000")
	verb("update", "a", "1700000010:1", "1700000020:2")

	// restore begins before dump does, and more is dumped than a pipe of the system holds. If they
	// waited for each other one would fail when its patience ends.
	from, to := io.Pipe()
	type result struct {
		code   int
		errors string
	}
	restored := make(chan result, 1)
	go func() {
		var errors bytes.Buffer
		code := start(from, io.Discard, &errors, "restore", "-", "b")
		restored <- result{code, errors.String()}
	}()
	var errors bytes.Buffer
	if code := start(strings.NewReader(""), to, &errors, "dump", "a"); code != 0 {
		t.Errorf("dump: exit code %d, %s", code, &errors)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-restored; got != (result{}) {
		t.Errorf("restore: exit code %d, %s", got.code, got.errors)
	}

	// Rows that nobody has read yet do not keep others from the database.
	from, to = io.Pipe()
	fetched := make(chan int, 1)
	go func() {
		fetched <- start(strings.NewReader(""), to, io.Discard, "fetch", "b", "AVERAGE", "-s", "1700000000", "-e", "1700000030")
		_ = to.Close() // the reader sees it
	}()
	var first [1]byte
	if _, err := io.ReadFull(from, first[:]); err != nil { // it has found its rows
		t.Fatal(err)
	}
	verb("update", "a", "1700000030:3")
	rest, err := io.ReadAll(from)
	if code := <-fetched; err != nil || code != 0 {
		t.Errorf("fetch: exit code %d, %v", code, err)
	}
	want := verb("fetch", "b", "AVERAGE", "-s", "1700000000", "-e", "1700000030")
	if got := string(first[:]) + string(rest); got != want {
		t.Errorf("fetch printed %q, and later %q", got, want)
	}
}

// TestHeldOutput: what is too much to be kept is passed on in order.
func TestHeldOutput(t *testing.T) {
	var to, want bytes.Buffer
	h := &heldOutput{to: &to}
	write := func(text string) {
		t.Helper()
		want.WriteString(text)
		if n, err := io.WriteString(h, text); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	write("first ")
	if to.Len() != 0 {
		t.Errorf("%q is not kept", &to)
	}
	for i := range 3 {
		write(strings.Repeat(fmt.Sprint(i), maxHeld/2))
	}
	write(" last")
	if !bytes.Equal(to.Bytes(), want.Bytes()) {
		t.Errorf("%d bytes are passed on, want %d", to.Len(), want.Len())
	}
	if err := h.release(); err != nil || to.Len() != want.Len() {
		t.Errorf("release: %v, %d bytes in all, want %d", err, to.Len(), want.Len())
	}
}
