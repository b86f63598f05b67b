package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A mounted is a file system of a test, and how it gets its commands.
type mounted struct {
	t       *testing.T
	dir     string
	in      io.Writer
	answers *bufio.Scanner
}

// start mounts a file system until the test ends.
func start(t *testing.T, entries string) *mounted {
	t.Helper()
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil || os.Geteuid() != 0 {
		t.Skipf("no file system can be mounted: %v, user %d", err, os.Geteuid())
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	m := &mounted{t: t, dir: t.TempDir(), in: inWrite, answers: bufio.NewScanner(outRead)}
	ended := make(chan error, 1)
	go func() { ended <- run(inRead, outWrite, entries, 1, []string{m.dir}) }()
	if m.answers.Scan(); m.answers.Text() != "ready" {
		t.Fatal(<-ended)
	}
	t.Cleanup(func() {
		if err := inWrite.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return m
}

func (m *mounted) tell(verb string) {
	m.t.Helper()
	if _, err := fmt.Fprintln(m.in, verb+" 0"); err != nil {
		m.t.Fatal(err)
	}
	if m.answers.Scan(); m.answers.Text() != "ok" {
		m.t.Fatalf("%s: %s", verb, m.answers.Text())
	}
}

func (m *mounted) path(name string) string { return filepath.Join(m.dir, name) }

// write writes a file and syncs it or not.
func (m *mounted) write(name string, content []byte, sync bool) {
	m.t.Helper()
	f, err := os.OpenFile(m.path(name), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		m.t.Fatal(err)
	}
	if sync {
		if err := f.Sync(); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mounted) syncFolder(name string) {
	m.t.Helper()
	f, err := os.Open(m.path(name))
	if err != nil {
		m.t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		m.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		m.t.Fatal(err)
	}
}

// has looks whether a file has a content; nil: it is not there.
func (m *mounted) has(name string, want []byte) {
	m.t.Helper()
	got, err := os.ReadFile(m.path(name))
	if want == nil {
		if !errors.Is(err, os.ErrNotExist) {
			m.t.Errorf("%s is there: %v", name, err)
		}
	} else if err != nil || !bytes.Equal(got, want) {
		m.t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(want), err)
	}
}

var old, young = bytes.Repeat([]byte("old "), 3000), bytes.Repeat([]byte("new "), 3000)

func TestSyncedStays(t *testing.T) {
	for _, entries := range []string{"journal", "strict"} {
		t.Run(entries, func(t *testing.T) {
			m := start(t, entries)
			m.write("a", old, true)
			m.syncFolder(".")
			m.write("b", young, true) // its name is durable only where any sync makes names durable
			if err := os.Rename(m.path("a"), m.path("c")); err != nil {
				t.Fatal(err)
			}
			m.has("c", old)
			m.tell("cut")
			m.has("a", old)
			m.has("c", nil)
			if entries == "strict" {
				young := []byte(nil)
				m.has("b", young)
			} else {
				m.has("b", young)
			}
		})
	}
}

// What was not synced is gone, kept, or a part of it: page by page it is old or new.
func TestUnsyncedMayGo(t *testing.T) {
	m := start(t, "journal")
	m.write("a", old, true)
	gone, kept := 0, 0
	for range 20 {
		m.write("a", old, true)
		m.write("a", young, false)
		m.has("a", young)
		m.tell("cut")
		got, err := os.ReadFile(m.path("a"))
		if err != nil || len(got) != len(old) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		for at := 0; at < len(got); at += pageBytes {
			end := min(at+pageBytes, len(got))
			switch {
			case bytes.Equal(got[at:end], old[at:end]):
				gone++
			case bytes.Equal(got[at:end], young[at:end]):
				kept++
			default:
				t.Fatalf("the page at %d is neither old nor new", at)
			}
		}
	}
	if gone == 0 || kept == 0 {
		t.Errorf("%d pages were undone and %d kept", gone, kept)
	}
}

func TestFullAndWipe(t *testing.T) {
	m := start(t, "strict")
	m.write("a", old, true)
	m.tell("full")
	f, err := os.OpenFile(m.path("a"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("x"), 0); err != nil {
		t.Errorf("written over: %v", err)
	}
	if _, err := f.WriteAt([]byte("x"), 1<<20); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("grown: %v", err)
	}
	if err := os.Mkdir(m.path("b"), 0o755); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("mkdir: %v", err)
	}
	m.tell("room")
	if _, err := f.WriteAt([]byte("x"), 1<<20); err != nil {
		t.Errorf("grown: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	m.tell("wipe")
	m.has("a", nil)
	m.write("a", young, false)
	m.has("a", young)
}
