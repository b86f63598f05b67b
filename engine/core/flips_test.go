package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// zoo makes a store with all kinds of values in its database and changes in its log, and returns
// its folder.
func zoo(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	dir := damaged(t) // rows, notes, metadata, labels, two definitions of one class
	s, err := core.Open(dir, core.Options{NoBackground: true, Reorder: 25e9})
	if err != nil {
		t.Fatal(err)
	}
	hw := mustCreate(t, s, "hw", definition(t, "DS:a:DERIVE:20:U:U", "RRA:HWPREDICT:20:0.1:0.1:5"))
	texts := mustCreate(t, s, "texts", definition(t, "DS:a:COUNTER:20:U:U", "RRA:LAST:0.5:1:300", "RRA:MIN:0.5:6:50"), core.Label{Name: "host", Value: "h"})
	for round := range int64(4) {
		var b core.Batch
		for i := range int64(40) {
			at := rra.Seconds(programStart + 10*(40*round+i+1))
			b.Add(hw, at, rra.Int(i*i))
			b.AddText(texts, at, []rra.Value{rra.Text(0)}, []string{fmt.Sprintf("%05d", i*i)})
		}
		mustAppend(t, s, &b)
		if err := s.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
	}
	ref, err := s.Lookup("h/2")
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Export(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	c.Path = "imported"
	if out, err := s.Import(ctx, []core.Copy{c}, false); err != nil || out[0].Err != nil {
		t.Fatal(out, err)
	}
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, s, "late", definition(t, "DS:a:GAUGE:20:U:U", "RRA:LAST:0.5:1:10")) // in the log only
	var b core.Batch
	b.Add(ref, rra.Seconds(programStart+5000), rra.Float(1), rra.Float(2))
	mustAppend(t, s, &b)
	if err := errors.Join(s.Rename(ctx, "h/other", "h/renamed"), s.Abandon()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// An answer is what one call says; an error is an answer too.
type answers map[string]string

// ask reads everything that a store has. Rows are those up to the time until.
func ask(s *core.Store, until int64) answers {
	ctx := context.Background()
	out := make(answers)
	say := func(name string, err error, text string) {
		if err != nil {
			text = "error: " + err.Error()
		}
		out[name] = text
	}
	var list strings.Builder
	var failed error
	for x, err := range s.Select(ctx, core.Query{Order: core.ByPath}) {
		if failed = err; err == nil {
			fmt.Fprintln(&list, x.Path, x.Labels)
		}
	}
	say("list", failed, list.String())
	for i, ms := range [][]core.Matcher{nil, {{Name: "n", Value: "1"}}} {
		var found strings.Builder
		failed = nil
		for x, err := range s.Select(ctx, core.Query{Matchers: ms, Order: core.ByRef}) {
			if failed = err; err == nil {
				fmt.Fprintln(&found, x.Path, x.Labels)
			}
		}
		say(fmt.Sprint("select ", i), failed, found.String())
	}
	names, err := s.Labels(ctx, core.LabelQuery{})
	say("label names", err, fmt.Sprint(names.Texts))
	notes, err := s.Notes(ctx, "")
	say("notes", err, fmt.Sprint(notes))
	for _, path := range []string{"h/0", "h/1", "h/2", "h/3", "h/renamed", "hw", "texts", "imported", "late"} {
		ref, err := s.Lookup(path)
		say(path+" lookup", err, "")
		m, err := s.Metadata(path)
		say(path+" metadata", err, fmt.Sprint(m))
		info, err := s.Info(ref)
		say(path+" info", err, fmt.Sprint(info.Path, info.Labels, info.State.W, info.State.Text))
		if err != nil {
			continue
		}
		for i, a := range info.Definition.Archives {
			span := a.PDPs * info.Definition.Step
			rows, err := s.Fetch(ctx, ref, i, programStart, until)
			h := fnv.New64a()
			for _, v := range rows.Values {
				_, _ = fmt.Fprint(h, math.Float64bits(v), " ") // a hash takes all
			}
			say(fmt.Sprint(path, " rows ", i, " of ", span), err, fmt.Sprint(len(rows.Values), h.Sum64()))
		}
		_, err = s.Export(ctx, ref)
		say(path+" export", err, "")
	}
	return out
}

// differs compares answers with the whole store's: each is the same, an error, or missing because
// its series is.
func (a answers) differs(whole answers) string {
	for name, text := range a {
		if want, ok := whole[name]; ok && text != want && !strings.HasPrefix(text, "error: ") {
			return fmt.Sprintf("%s: %.300q, of the whole store %.300q", name, text, whole[name])
		}
	}
	return ""
}

// use opens a damaged store, reads all of it, checks it, writes to it and reads it again.
func use(dir string, whole answers) (trouble string, refused bool) {
	ctx := context.Background()
	const until = programStart + 4800
	for round := range 2 {
		s, err := core.Open(dir, core.Options{NoBackground: true, Reorder: 25e9, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return "", true
		}
		trouble = ask(s, until).differs(whole)
		if trouble == "" && round == 0 {
			_, _ = s.Check(ctx)
			_ = s.Backup(ctx, io.Discard)
			if ref, err := s.Lookup("h/1"); err == nil {
				var b core.Batch
				for i := range int64(70) {
					b.Add(ref, rra.Seconds(programStart+5000+10*i), rra.Float(7), rra.Float(8))
				}
				_ = s.Append(ctx, &b)
			}
			_ = s.Checkpoint(ctx)
			// What changes with the samples is compared no more: rows before them stay.
			maps.DeleteFunc(whole, func(name, _ string) bool {
				return strings.HasPrefix(name, "h/1 ")
			})
		}
		_ = s.Close()
		if trouble != "" {
			return fmt.Sprintf("opened %d times: %s", round+1, trouble), false
		}
	}
	return "", false
}

// TestFlippedBytesOfDatabase damages the database of a small store in one place at a time. Whatever
// is asked of it then is answered as if it were whole, or with an error: no panic, no hang, no
// other number. RONDO_FLIPS says how many bytes are flipped: "all", "pages" (each of them, and a
// thousandth of the bytes), a number, or "at:" and the place of one.
func TestFlippedBytesOfDatabase(t *testing.T) {
	dir := zoo(t)
	raw := readDatabase(t, dir)
	s, err := core.Open(copyStore(t, dir), core.Options{NoBackground: true, Reorder: 25e9})
	if err != nil {
		t.Fatal(err)
	}
	whole := ask(s, programStart+4800)
	if err := s.Abandon(); err != nil {
		t.Fatal(err)
	}
	for name, text := range whole {
		if strings.HasPrefix(text, "error: ") {
			t.Fatalf("%s: %s", name, text)
		}
	}
	refused, tried := 0, 0
	try := func(what string, damage func(b []byte) []byte) {
		t.Helper()
		at := copyStore(t, dir)
		if err := os.WriteFile(filepath.Join(at, "rondo.bolt"), damage(append([]byte(nil), raw...)), 0o600); err != nil {
			t.Fatal(err)
		}
		type outcome struct {
			trouble string
			refused bool
		}
		done := make(chan outcome, 1)
		go func() {
			trouble, refused := use(at, maps.Clone(whole))
			done <- outcome{trouble, refused}
		}()
		select {
		case o := <-done:
			if tried++; o.refused {
				refused++
			}
			if o.trouble != "" {
				t.Errorf("%s: %s", what, o.trouble)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s: no end", what)
		}
		_ = os.RemoveAll(at)
	}
	r := rand.New(rand.NewPCG(seedtest.One(t), 1))
	const page = 4096
	pages := len(raw) / page
	flip := func(at int) {
		bit := byte(1) << (at % 8)
		try(fmt.Sprintf("byte %d of page %d, bit %#x", at%page, at/page, bit), func(b []byte) []byte { b[at] ^= bit; return b })
	}
	spoil := func(p int) {
		other := (p + 1 + r.IntN(pages-1)) % pages
		try(fmt.Sprintf("page %d zeroed", p), func(b []byte) []byte { clear(b[p*page : (p+1)*page]); return b })
		try(fmt.Sprintf("page %d is as page %d", p, other), func(b []byte) []byte { copy(b[p*page:(p+1)*page], raw[other*page:]); return b })
		try(fmt.Sprintf("pages %d and %d exchanged", p, other), func(b []byte) []byte {
			copy(b[p*page:(p+1)*page], raw[other*page:])
			copy(b[other*page:(other+1)*page], raw[p*page:])
			return b
		})
		try(fmt.Sprintf("cut before page %d", p), func(b []byte) []byte { return b[:p*page] })
	}
	switch all := os.Getenv("RONDO_FLIPS"); {
	case strings.HasPrefix(all, "at:"):
		at, err := strconv.Atoi(all[3:])
		if err != nil {
			t.Fatal(err)
		}
		flip(at)
	case all == "pages": // and a thousandth of the bytes
		for range len(raw) / 1000 {
			flip(r.IntN(len(raw)))
		}
		for p := range pages {
			spoil(p)
		}
	case all == "all":
		for at := range raw {
			flip(at)
		}
		for p := range pages {
			spoil(p)
		}
	default:
		// The high bits of each page's first element and header: these hid a name, and had bbolt free
		// 2^31 pages. Two of them in each page.
		bits := []int{10, 15, 16 + 4, 16 + 8, 16 + 12}
		for i := range 2 * (pages - 2) {
			flip((2+i/2)*page + bits[i%len(bits)])
		}
		n, err := strconv.Atoi(all)
		if err != nil {
			n = 20
		}
		for range n {
			flip(r.IntN(len(raw)))
		}
		for range max(n/20, 1) {
			spoil(r.IntN(pages))
		}
	}
	t.Logf("%d places of %d bytes in %d pages; %d were refused when the store was opened", tried, len(raw), pages, refused)
}

// TestFlippedKeysHideNothing: a selection by labels, or of the paths of a folder, was short without
// an error where a bit in a key of the index had flipped: a search passed the entry. So a look-up
// found no series, a second one could be made, and replay passed over a rename. So did a bit in the
// key of a series' record, and one in a key of the metadata left the path without any.
func TestFlippedKeysHideNothing(t *testing.T) {
	ctx := context.Background()
	dir := zoo(t)
	raw := readDatabase(t, dir)
	all := func(damaged []byte) answers {
		at := copyStore(t, dir)
		defer func() { _ = os.RemoveAll(at) }()
		if err := os.WriteFile(filepath.Join(at, "rondo.bolt"), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := core.Open(at, core.Options{NoBackground: true, Reorder: 25e9, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil
		}
		defer func() { _ = s.Close() }()
		out := ask(s, programStart+4800)
		say := func(name string, err error, text string) {
			if out[name] = text; err != nil {
				out[name] = "error: " + err.Error()
			}
		}
		maps.Copy(out, selections(s))
		for _, path := range []string{"h/1", "h/renamed", "h/other", "hw", "imported"} {
			ref, err := s.Lookup(path)
			if errors.Is(err, core.ErrNotFound) {
				err = nil
			}
			say("look up "+path, err, fmt.Sprint(ref))
			made, err := s.CreateBatch(ctx, []core.Spec{{Path: path, Definition: definition(t, "DS:a:GAUGE:20:U:U", "RRA:LAST:0.5:1:10")}})
			say("make "+path, errors.Join(err, made[0].Err), fmt.Sprint(made[0].Ref))
		}
		// What a checkpoint writes beside the damage hides nothing either.
		ref, err := s.Lookup("h/1")
		if err != nil {
			return out
		}
		info, err := s.Info(ref)
		if err != nil {
			return out
		}
		made, err := s.CreateBatch(ctx, []core.Spec{{Path: "h/more", Labels: info.Labels, Definition: info.Definition, Start: rra.Seconds(programStart)}})
		if errors.Join(err, made[0].Err) != nil {
			return out
		}
		var b core.Batch
		for i := range int64(70) {
			b.Add(ref, rra.Seconds(programStart+5000+10*i), rra.Float(7), rra.Float(8))
		}
		say("append", s.Append(ctx, &b), "")
		_, err = s.SetMetadata(ctx, []core.PathMetadata{{Path: "h/more", Metadata: core.Metadata{Text: "more"}}})
		say("set metadata", errors.Join(err, s.Checkpoint(ctx)), "")
		for name, text := range ask(s, programStart+4800) {
			out["again "+name] = text
		}
		for name, text := range selections(s) {
			out["again "+name] = text
		}
		return out
	}
	whole := all(raw)
	tried := 0
	for n, bucket := range []string{"labels", "names", "metadata", "series", "state", "notes", "rows", "defs", "classes", "meta"} {
		for _, entry := range entriesOf(t, dir, bucket) {
			for i := range entry.key {
				if tried++; n > 3 && tried%4 > 0 { // of buckets that are not searched for names
					continue
				}
				b := bytes.Clone(raw)
				for at := bytes.Index(b, entry.all); at >= 0; at = bytes.Index(b, entry.all) {
					b[at+i] ^= 1 << (tried % 8)
				}
				if trouble := all(b).differs(whole); trouble != "" {
					t.Errorf("%s %q, bit %d of byte %d: %s", bucket, entry.key, tried%8, i, trouble)
				}
			}
		}
	}
	t.Logf("%d bits of keys", tried)
}

// selections reads by labels and by folders.
func selections(s *core.Store) answers {
	ctx := context.Background()
	out := make(answers)
	say := func(name string, err error, text string) {
		if out[name] = text; err != nil {
			out[name] = "error: " + err.Error()
		}
	}
	for name, q := range map[string]core.Query{
		"n=1":     {Matchers: []core.Matcher{{Name: "n", Value: "1"}}},
		"host,n":  {Matchers: []core.Matcher{{Name: "host", Value: "h"}, {Name: "n", Value: "2"}}},
		"n!=1":    {Matchers: []core.Matcher{{Name: "host", Value: "h"}, {Op: core.MatchNotEqual, Name: "n", Value: "1"}}},
		"below h": {Matchers: []core.Matcher{{Op: core.MatchBelow, Folders: []string{"h"}}}},
		"h/":      {Prefix: "h/", Order: core.ByPath},
		"behind":  {Prefix: "h/", After: "h/1", Order: core.ByPath},
	} {
		var failed error
		var text strings.Builder
		for x, err := range s.Select(ctx, q) {
			if failed = err; err == nil {
				text.WriteString(x.Path + " ")
			}
		}
		say(name, failed, text.String())
	}
	for name, q := range map[string]core.LabelQuery{"names": {}, "values": {Name: "n"}, "some": {Name: "n", Matchers: []core.Matcher{{Name: "host", Value: "h"}}}} {
		x, err := s.Labels(ctx, q)
		say(name, err, fmt.Sprint(x.Texts))
	}
	return out
}

// An entry is a key of a bucket, and the key with its value as they stand in a page.
type entry struct{ key, all []byte }

func entriesOf(t *testing.T, dir, bucket string) (out []entry) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, "rondo.bolt"), 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucket)).ForEach(func(k, v []byte) error {
			out = append(out, entry{bytes.Clone(k), slices.Concat(k, v)})
			return nil
		})
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}
