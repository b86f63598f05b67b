package gmetric

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// stored runs a receiver without a socket into a store, at the second at.
func stored(t *testing.T, store *core.Store, options map[string][]string, at int64) (s offlineServer, clock *atomic.Int64) {
	t.Helper()
	clock = new(atomic.Int64)
	clock.Store(at)
	s = offline(sink.New(store, sink.Options{}), receivers.Config{
		Options: options, Now: func() time.Time { return time.Unix(clock.Load(), 0) },
	})
	return s, clock
}

// TestStoreCaptures: the captures, through the whole of the store, give the series and texts of the
// manifest; and the same values are taken at once when server and store start over.
func TestStoreCaptures(t *testing.T) {
	for _, f := range readManifest(t).Files {
		t.Run(f.File, func(t *testing.T) {
			dir := t.TempDir()
			at := int64(began)
			for again := range int64(2) {
				store := enginetest.OpenDir(t, dir, core.Options{})
				s, clock := stored(t, store, nil, at)
				before := store.Stats().SamplesAccepted // those that the log was read for
				for _, b := range receivertest.Hex(t, filepath.Join(captures, f.File)) {
					if bytes.HasPrefix(b, []byte{0, 0, 0, byte(WordMetadata)}) && again == 1 {
						continue
					}
					s.begin()
					s.datagram(b, loopback)
					s.resolve(t.Context())
					s.tick(t.Context())
					clock.Add(1)
				}
				at = clock.Load()
				if len(s.held) > 0 {
					t.Errorf("%d values wait for metadata", len(s.held))
				}
				s.close()
				if st := s.Stats(); st.Dropped[receivers.Late]+st.Dropped[receivers.Failed]+st.Dropped[receivers.Overload] > 0 {
					t.Errorf("%+v", st)
				}
				samples := uint64(0)
				for path, w := range f.Expected.Series {
					samples += uint64(len(w.Values))
					path = strings.ReplaceAll(path, "$SOURCE", "127.0.0.1")
					ref, err := store.Lookup(path)
					if err != nil {
						t.Errorf("%s: %v", path, err)
						continue
					}
					series, err := store.Series(ref)
					if err != nil || series.Definition.Sources[0].Kind.String() != w.Kinds[0] {
						t.Errorf("%s: %+v, %v; want a %s", path, series.Definition, err, w.Kinds[0])
					}
					if md, err := store.Metadata(path); err != nil || md.Expire != w.DMax || attribute(md, "units") != w.Units {
						t.Errorf("%s: metadata %+v, %v", path, md, err)
					}
				}
				for path, text := range f.Expected.Strings {
					path = strings.ReplaceAll(path, "$SOURCE", "127.0.0.1")
					if md, err := store.Metadata(path); err != nil || md.Text != text {
						t.Errorf("%s: metadata %+v, %v; want the text %q", path, md, err, text)
					}
				}
				st := store.Stats()
				if st.SamplesAccepted-before != samples || st.SamplesRefused > 0 || st.Series != int64(len(f.Expected.Series)) {
					t.Errorf("round %d: %d samples, %d refused, %d series; want %d and %d", again, st.SamplesAccepted-before, st.SamplesRefused,
						st.Series, samples, len(f.Expected.Series))
				}
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestStoreExpiry: a metric that was silent for its dmax loses its metadata, and its series where a
// flag says so; and both are made again when it comes back.
func TestStoreExpiry(t *testing.T) {
	for _, expire := range []string{expireKeep, expiryDelete} {
		t.Run(expire, func(t *testing.T) {
			store := enginetest.Open(t)
			s, clock := stored(t, store, map[string][]string{flagExpire.Name: {expire}}, began)
			sweeper := sink.NewSweeper(store, func() time.Time { return time.Unix(clock.Load(), 0) })
			others, err := store.Create(t.Context(), core.Spec{Path: "others", Definition: receivers.StandardDefinition(0), Start: rra.Seconds(began)})
			if err != nil {
				t.Fatal(err)
			}
			sweep := func() sink.Swept {
				t.Helper()
				var b core.Batch // somebody else still sends
				b.Add(others, rra.Seconds(clock.Load()), rra.Float(1))
				if err := store.Append(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
				done, err := sweeper.Sweep(t.Context(), nil, time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				return done
			}
			const path = "ganglia/h/m"
			m := meta("h", "m", "uint32", Positive)
			m.DMax, m.Units = 100, []byte("n")
			text := meta("h", "t", "string", Both)
			text.DMax = 100
			send := func(n int, metadata bool) {
				t.Helper()
				if metadata {
					s.feed(t, m, text)
				}
				s.feed(t, value("h", "m", fmt.Sprint(n)), value("h", "t", fmt.Sprint(n)))
				s.every = 0
				s.feed(t)
				s.queue.Flush()
			}
			// has reports whether all of what was sent last is stored.
			has := func(text string) func() bool {
				at := rra.Seconds(clock.Load())
				return func() bool {
					md, err := store.Metadata(path)
					if err != nil {
						t.Fatal(err)
					}
					words, err := store.Metadata("ganglia/h/t")
					if err != nil {
						t.Fatal(err)
					}
					ref, err := store.Lookup(path)
					if err != nil {
						return false
					}
					last, err := store.Last(ref)
					return err == nil && last == at && words.Text == text && attribute(md, "units") == "n" && attribute(words, "type") == "string"
				}
			}
			send(1, true)
			until(t, "they are there", has("1"))
			clock.Add(60)
			send(2, false)
			there := has("2")
			until(t, "they still come", there)
			clock.Add(60)
			sweep()
			if !there() {
				t.Error("what still comes has expired")
			}
			clock.Add(90)
			done := sweep()
			want := sink.Swept{Expired: 2}
			if expire == expiryDelete {
				want = sink.Swept{Expired: 1, Dropped: 1}
			}
			if diff := cmp.Diff(want, done); diff != "" {
				t.Errorf("swept (-want +got):\n%s", diff)
			}
			clock.Add(10)
			send(3, true)
			until(t, "the series is back", func() bool {
				clock.Add(2) // a sample for a dropped series shows that it is gone
				send(4, true)
				_, err := store.Lookup(path)
				return err == nil
			})
			clock.Add(2)
			send(5, true)
			until(t, "all is back", has("5"))
			s.close()
		})
	}
}
