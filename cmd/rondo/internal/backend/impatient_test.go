package backend

import (
	"errors"
	"io"
	"testing"
)

// TestImpatient shows that all that arrives is read, and that the wait for more ends.
func TestImpatient(t *testing.T) {
	in, out := io.Pipe()
	defer func() { _ = out.Close() }() // the reader below ends with it
	r := &session{ctx: t.Context(), in: in, ends: true}
	go func() {
		_, _ = io.WriteString(out, "one ") // in is not closed before
		_, _ = io.WriteString(out, "two")
	}()
	b := make([]byte, 7)
	if _, err := io.ReadFull(r, b); err != nil || string(b) != "one two" {
		t.Fatalf("%q, %v", b, err)
	}
	if n, err := r.Read(b); n != 0 || !errors.Is(err, errSilent) {
		t.Fatalf("%d, %v", n, err)
	}
}

// TestImpatientEnd shows that the end of the input is one.
func TestImpatientEnd(t *testing.T) {
	in, out := io.Pipe()
	go func() {
		_, _ = io.WriteString(out, "one") // as above
		_ = out.Close()
	}()
	r := &session{ctx: t.Context(), in: in, ends: true}
	b, err := io.ReadAll(r)
	if err != nil || string(b) != "one" {
		t.Fatalf("%q, %v", b, err)
	}
	if _, err := r.Read(b); err != io.EOF {
		t.Fatal(err)
	}
}
