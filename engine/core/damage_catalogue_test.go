package core_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A flipped bit of a name's value made Drop panic, and every Open after it; malformed entries ended
// List, Select and LabelNames. Every entry of the catalogue is changed here in several ways: calls
// name the bucket, pass over the entry, and never panic.
func TestDamagedCatalogueIsPassedOver(t *testing.T) {
	ctx := context.Background()
	whole := damaged(t)
	changes := map[string]func(tx *bolt.Tx, bucket string, k, v []byte) error{
		"first byte": func(tx *bolt.Tx, b string, k, v []byte) error { v[0] ^= 2; return tx.Bucket([]byte(b)).Put(k, v) },
		"last byte": func(tx *bolt.Tx, b string, k, v []byte) error {
			v[len(v)-1] ^= 2
			return tx.Bucket([]byte(b)).Put(k, v)
		},
		"cut":        func(tx *bolt.Tx, b string, k, v []byte) error { return tx.Bucket([]byte(b)).Put(k, v[:1]) },
		"empty":      func(tx *bolt.Tx, b string, k, _ []byte) error { return tx.Bucket([]byte(b)).Put(k, nil) },
		"key":        moveKey(0x02, false),
		"sealed key": moveKey(0x02, true),
		"sealed": func(tx *bolt.Tx, b string, k, _ []byte) error {
			return tx.Bucket([]byte(b)).Put(k, sealed(b, k, []byte{255, 255}))
		},
		"sealed long": func(tx *bolt.Tx, b string, k, _ []byte) error {
			return tx.Bucket([]byte(b)).Put(k, sealed(b, k, bytes.Repeat([]byte{255}, 40)))
		},
		"odd key": func(tx *bolt.Tx, b string, _, _ []byte) error {
			return tx.Bucket([]byte(b)).Put([]byte("zzz"), sealed(b, []byte("zzz"), []byte{1, 2}))
		},
	}
	for _, bucket := range []string{"names", "series", "labels", "notes", "metadata"} {
		for name, change := range changes {
			t.Run(bucket+"/"+name, func(t *testing.T) {
				dir := copyStore(t, whole)
				damageDB(t, dir, func(tx *bolt.Tx) error {
					k, v := tx.Bucket([]byte(bucket)).Cursor().First()
					return change(tx, bucket, bytes.Clone(k), bytes.Clone(v))
				})
				told := 0
				for range 2 { // what the first round logs, the second one replays
					s, err := core.Open(dir, core.Options{NoBackground: true})
					if err != nil {
						t.Fatalf("open: %v", err)
					}
					told += useCatalogue(t, s)
					if ps, err := s.Check(ctx); err != nil || len(ps) == 0 && told == 0 && !(name == "sealed key" && (bucket == "notes" || bucket == "metadata")) {
						t.Errorf("check: %v, %v", ps, err)
					}
					if err := s.Abandon(); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

// moveKey puts a value under another key, with or without the checksum that it then has.
func moveKey(bit byte, seal bool) func(tx *bolt.Tx, bucket string, k, v []byte) error {
	return func(tx *bolt.Tx, bucket string, k, v []byte) error {
		b := tx.Bucket([]byte(bucket))
		if err := b.Delete(k); err != nil {
			return err
		}
		k = bytes.Clone(k)
		k[len(k)/2] ^= bit
		if seal {
			v = sealed(bucket, k, v[:len(v)-4])
		}
		return b.Put(k, v)
	}
}

// useCatalogue calls what reads the catalogue, and returns how many calls said ErrDamaged. Other
// errors say what is not found.
func useCatalogue(t *testing.T, s *core.Store) (told int) {
	t.Helper()
	ctx := context.Background()
	note := func(what string, err error) {
		switch {
		case errors.Is(err, core.ErrDamaged):
			told++
		case err != nil && !errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrExists):
			t.Errorf("%s: %v", what, err)
		}
	}
	n := 0
	for x, err := range s.Select(ctx, core.Query{Order: core.ByPath}) {
		if note("list", err); err == nil {
			n++
			_, err := s.Info(x.Ref)
			note("info", err)
		}
	}
	if n < 4 {
		t.Errorf("list: %d series of 5", n)
	}
	for _, ms := range [][]core.Matcher{nil, {{Name: "host", Value: "h"}}, {{Name: "n", Value: "0"}}} {
		for _, err := range s.Select(ctx, core.Query{Matchers: ms, Order: core.ByRef}) {
			note("select", err)
		}
	}
	_, err := s.Labels(ctx, core.LabelQuery{})
	note("label names", err)
	_, err = s.Labels(ctx, core.LabelQuery{Name: "n"})
	note("label values", err)
	_, err = s.Notes(ctx, "")
	note("notes", err)
	for _, err := range s.ListMetadata(ctx, core.MetadataQuery{}) {
		note("metadata", err)
	}
	out, err := s.SetMetadata(ctx, []core.PathMetadata{{Path: "h/0", Metadata: core.Metadata{Text: "x"}}})
	note("set metadata", errors.Join(append(out, err)...))
	out, err = s.Relabel(ctx, []core.PathLabels{{Path: "h/0", Labels: []core.Label{{Name: "x", Value: "y"}}}})
	note("relabel", errors.Join(append(out, err)...))
	note("rename", s.Rename(ctx, "h/0", "h/renamed"))
	note("rename back", s.Rename(ctx, "h/renamed", "h/0"))
	_, err = s.Create(ctx, core.Spec{Path: "h/0", Definition: definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:100"), Start: rra.Seconds(programStart), Overwrite: true})
	note("overwrite", err)
	note("drop", core.Drop(ctx, s, "h/0"))
	return told
}

// A checkpoint that meets a damaged entry of the label index leaves it, and goes on.
func TestCheckpointLeavesDamagedPosting(t *testing.T) {
	s, err := core.Open(damaged(t), core.Options{NoBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ctx := context.Background()
	key := rotFrom(t, s, "labels", "host\x00h\x00", func(_, v []byte) []byte { v[0] ^= 1; return v })
	mustCreate(t, s, "h/new", definition(t, "DS:a:GAUGE:20:U:U", "DS:b:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:100", "RRA:MAX:0.5:6:50"), core.Label{Name: "host", Value: "h"})
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	var damage *core.DamageError
	for _, err = range s.Select(ctx, core.Query{Matchers: []core.Matcher{{Name: "host", Value: "h"}}, Order: core.ByRef}) {
	}
	if !errors.As(err, &damage) || damage.Bucket != "labels" || !bytes.Equal(damage.Key, key) {
		t.Errorf("select: %v", err)
	}
}

// One group with a damaged state made every batch that had a sample of it fail, and the store did
// not open.
func TestDamagedStateLeavesOtherGroups(t *testing.T) {
	dir := damaged(t)
	s, err := core.Open(dir, core.Options{NoBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	other := mustCreate(t, s, "other", definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:100"))
	ref, err := s.Lookup("h/3")
	if err != nil {
		t.Fatal(err)
	}
	at := int64(programStart + 3600)
	batch := func() error {
		var b core.Batch
		at += 10
		b.Add(ref, rra.Seconds(at), rra.Float(1), rra.Float(2))
		b.Add(other, rra.Seconds(at), rra.Float(3))
		return s.Append(ctx, &b)
	}
	if err := errors.Join(batch(), batch(), s.Abandon()); err != nil { // the log has samples of both groups
		t.Fatal(err)
	}
	damageDB(t, dir, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("state"))
		k, v := b.Cursor().First()
		k, v = bytes.Clone(k), bytes.Clone(v)
		v[20] ^= 4
		return b.Put(k, v)
	})
	for _, o := range []core.Options{{}, {NoBackground: true}} {
		if s, err = core.Open(dir, o); err != nil {
			t.Fatal(err)
		}
		var refused *core.RejectedError
		if err := batch(); !errors.As(err, &refused) || refused.Accepted != 1 || refused.Other != 1 || !errors.Is(err, core.ErrDamaged) {
			t.Errorf("append: %v", err)
		}
		if _, err := s.Fetch(ctx, ref, 0, at-100, at); !errors.Is(err, core.ErrDamaged) {
			t.Errorf("fetch: %v", err)
		}
		if r, err := s.Fetch(ctx, other, 0, at-10, at); err != nil || !slices.Equal(r.Values, []float64{3}) {
			t.Errorf("fetch of the other: %v, %v", r.Values, err)
		}
		if err := s.Checkpoint(ctx); err != nil {
			t.Errorf("checkpoint: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Damage of a number of the store or of a definition is named when the store is opened.
func TestOpenNamesDamage(t *testing.T) {
	whole := damaged(t)
	for _, bucket := range []string{"meta", "classes", "defs"} {
		var keys [][]byte
		damageDB(t, copyStore(t, whole), func(tx *bolt.Tx) error {
			return tx.Bucket([]byte(bucket)).ForEach(func(k, _ []byte) error { keys = append(keys, bytes.Clone(k)); return nil })
		})
		for _, k := range keys {
			dir := copyStore(t, whole)
			damageDB(t, dir, func(tx *bolt.Tx) error {
				v := bytes.Clone(tx.Bucket([]byte(bucket)).Get(k))
				v[0] ^= 1
				return tx.Bucket([]byte(bucket)).Put(k, v)
			})
			var damage *core.DamageError
			if _, err := core.Open(dir, core.Options{}); !errors.As(err, &damage) || damage.Bucket != bucket || !bytes.Equal(damage.Key, k) {
				t.Errorf("%s %q: %v", bucket, k, err)
			}
		}
	}
}
