package core_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

// touch does everything to the store in dir that reads its database, and returns the errors. That
// it returns is what is tested: no panic, no fault, no endless loop.
func touch(dir string) (errs []error) {
	ctx := context.Background()
	note := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	s, err := core.Open(dir, core.Options{NoBackground: true})
	if err != nil {
		return []error{err}
	}
	var refs []core.Ref
	for x, err := range s.Select(ctx, core.Query{Order: core.ByPath}) {
		if note("list", err); err == nil {
			refs = append(refs, x.Ref)
		}
	}
	for _, err := range s.Select(ctx, core.Query{Matchers: []core.Matcher{{Name: "host", Value: "a"}}, Order: core.ByRef}) {
		note("select", err)
	}
	_, err = s.Labels(ctx, core.LabelQuery{})
	note("labels", err)
	for _, ref := range refs {
		for archive := range 3 {
			_, err := s.Fetch(ctx, ref, archive, programStart, programStart+5000)
			note("fetch", err)
		}
		_, err = s.Info(ref)
		note("info", err)
	}
	problems, err := s.Check(ctx)
	note("check", err)
	for _, p := range problems {
		note("check found", errors.New(p.String()))
	}
	note("checkpoint", s.Checkpoint(ctx))
	note("close", s.Close())
	return errs
}

// TestDamagedPages damages one page at a time, in every way a page can be wrong as a whole.
func TestDamagedPages(t *testing.T) {
	const page = 4096
	dir := t.TempDir()
	good := smallDatabase(t, dir)
	le := binary.LittleEndian
	used := int(le.Uint64(good[16+40:])) // pages, as one of the meta pages says
	kinds := map[string]func(b []byte, at int){
		"zeroed":             func(b []byte, at int) { clear(b[at : at+page]) },
		"all ones":           func(b []byte, at int) { copy(b[at:], strings.Repeat("\xff", page)) },
		"the page before it": func(b []byte, at int) { copy(b[at:at+page], b[at-page:at]) },
		"overflow":           func(b []byte, at int) { le.PutUint32(b[at+12:], 1<<32-1) },
		"count":              func(b []byte, at int) { le.PutUint16(b[at+10:], 1<<16-1) },
		"leaf as branch":     func(b []byte, at int) { le.PutUint16(b[at+8:], 1) },
		"branch as leaf":     func(b []byte, at int) { le.PutUint16(b[at+8:], 2) },
		"element":            func(b []byte, at int) { le.PutUint32(b[at+20:], 1<<31) },
		"leads to itself": func(b []byte, at int) {
			if le.Uint16(b[at+8:]) == 1 { // of a branch page: what its first element leads to
				le.PutUint64(b[at+24:], uint64(at/page))
			}
		},
	}
	files := make(map[string][]byte) // of the log
	entries, err := os.ReadDir(filepath.Join(dir, "wal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := filepath.Join("wal", e.Name())
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for kind, damage := range kinds {
		t.Run(kind, func(t *testing.T) {
			found := 0
			for at := 0; at < used*page; at += page {
				if at == 0 && kind == "the page before it" {
					continue
				}
				b := append([]byte(nil), good...)
				damage(b, at)
				files["rondo.bolt"] = b
				place := t.TempDir()
				if err := os.Mkdir(filepath.Join(place, "wal"), 0o700); err != nil {
					t.Fatal(err)
				}
				for name, b := range files {
					if err := os.WriteFile(filepath.Join(place, name), b, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if len(touch(place)) > 0 {
					found++
				}
			}
			t.Logf("%d pages damaged, %d noticed", used, found)
			if found == 0 {
				t.Error("nothing was noticed")
			}
		})
	}
}

// TestDamagedBucketInsidePage damages the buckets that bbolt keeps inside the page of buckets,
// because they are small. bbolt copies such a bucket to the Go heap and follows its elements
// wherever they point: into other objects, which the collector then finds dead. Such a file is not
// opened.
func TestDamagedBucketInsidePage(t *testing.T) {
	const page = 4096
	dir := zoo(t)
	good := readDatabase(t, dir)
	le := binary.LittleEndian
	meta := 0
	if le.Uint64(good[page+16+48:]) > le.Uint64(good[16+48:]) { // number of the transaction
		meta = page
	}
	root := int(le.Uint64(good[meta+16+16:])) * page
	inside := 0
	for i := range int(le.Uint16(good[root+10:])) {
		at := root + 16 + 16*i
		key, size := le.Uint32(good[at+8:]), le.Uint32(good[at+12:])
		bucket := at + int(le.Uint32(good[at+4:])+key)
		if le.Uint64(good[bucket:]) != 0 {
			continue // it has pages of its own
		}
		inside++
		p := bucket + 16
		n := le.Uint16(good[p+10:])
		ways := map[string]func(b []byte){
			"kind":     func(b []byte) { le.PutUint16(b[p+8:], 1) },
			"count":    func(b []byte) { le.PutUint16(b[p+10:], n^0x400) },
			"one more": func(b []byte) { le.PutUint16(b[p+10:], n+1) },
			"shorter":  func(b []byte) { le.PutUint32(b[at+12:], size-1) },
			"longer":   func(b []byte) { le.PutUint32(b[at+12:], size+16) },
			"gone":     func(b []byte) { le.PutUint32(b[at+12:], 8) },
		}
		if n > 0 {
			ways["place"] = func(b []byte) { b[p+16+4] ^= 0x80 }
			ways["key"] = func(b []byte) { b[p+16+8+2] ^= 1 }
			ways["value"] = func(b []byte) { b[p+16+12+2] ^= 1 }
		}
		for way, damage := range ways {
			b := append([]byte(nil), good...)
			damage(b)
			to := copyStore(t, dir)
			if err := os.WriteFile(filepath.Join(to, "rondo.bolt"), b, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := core.Open(to, core.Options{NoBackground: true})
			if !errors.Is(err, core.ErrDamaged) {
				t.Errorf("%s of bucket %d of %d bytes: opened with %v", way, i, size, err)
			}
			if err == nil {
				_ = s.Close()
			}
		}
	}
	if inside < 3 {
		t.Errorf("%d buckets stand in the page", inside)
	}
}

// TestLabelKeysOutOfOrder flips the bits that keys of the label index begin with. A key that was
// out of order had the walk from one label to the next return to where it came from, without end.
func TestLabelKeysOutOfOrder(t *testing.T) {
	dir := t.TempDir()
	s, err := core.Open(dir, core.Options{NoBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		mustCreate(t, s, fmt.Sprint("s", i), definition(t, "DS:a:GAUGE:20:U:U", "RRA:LAST:0.5:1:10"),
			core.Label{Name: "q1", Value: fmt.Sprint("value", i)}, core.Label{Name: "q3", Value: "x"}, core.Label{Name: "q5", Value: "y"})
	}
	if err := errors.Join(s.Checkpoint(context.Background()), s.Close()); err != nil {
		t.Fatal(err)
	}
	good := readDatabase(t, dir)
	places := 0
	for _, key := range []string{"q1\x00value3\x00", "q3\x00x\x00"} {
		at := strings.Index(string(good), key)
		if at < 0 {
			t.Fatalf("no key %q", key)
		}
		for i := range 8 {
			places++
			b := append([]byte(nil), good...)
			b[at+i/8] ^= 1 << (i % 8)
			to := copyStore(t, dir)
			if err := os.WriteFile(filepath.Join(to, "rondo.bolt"), b, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := core.Open(to, core.Options{NoBackground: true})
			if err != nil {
				t.Fatal(err) // the page that holds the keys is no branch
			}
			done := make(chan struct{})
			go func() {
				for _, read := range []func() (core.Labels, error){
					func() (core.Labels, error) { return s.Labels(context.Background(), core.LabelQuery{}) },
					func() (core.Labels, error) { return s.Labels(context.Background(), core.LabelQuery{Name: "q1"}) },
				} {
					if _, err := read(); err != nil && !errors.Is(err, core.ErrDamaged) {
						t.Errorf("bit %d of %q: %v", i, key, err)
					}
				}
				close(done)
			}()
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatalf("bit %d of %q: no end", i, key)
			}
			if err := s.Close(); err != nil {
				t.Log(err)
			}
		}
	}
	t.Logf("%d places", places)
}

// TestSeriesKeyTakenForAnother gives one series the key of another. Select without a label yielded
// the other twice and left the first out, without an error: it had believed the keys.
func TestSeriesKeyTakenForAnother(t *testing.T) {
	dir := t.TempDir()
	s, err := core.Open(dir, core.Options{NoBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	var refs [3][8]byte
	for i := range refs {
		ref := mustCreate(t, s, fmt.Sprint("s", i), definition(t, "DS:a:GAUGE:20:U:U", "RRA:LAST:0.5:1:10"))
		binary.BigEndian.PutUint64(refs[i][:], uint64(ref))
	}
	if err := errors.Join(s.Checkpoint(context.Background()), s.Close()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "rondo.bolt")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for at := 0; ; at++ {
		i := strings.Index(string(b[at:]), string(refs[2][:]))
		if i < 0 {
			break
		}
		at += i
		if strings.Contains(string(b[at+8:at+32]), "s2") { // key and value of the bucket series
			changed++
			copy(b[at:], refs[0][:])
		}
	}
	if changed == 0 {
		t.Fatal("no key found")
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = core.Open(dir, core.Options{NoBackground: true}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it says that it is damaged
	var paths []string
	var damage error
	for x, err := range s.Select(context.Background(), core.Query{Matchers: nil, Order: core.ByRef}) {
		if damage = err; err == nil {
			paths = append(paths, x.Path)
		}
	}
	if !errors.Is(damage, core.ErrDamaged) || strings.Join(paths, " ") != "s0 s1" {
		t.Errorf("series %q, error %v", paths, damage)
	}
}
