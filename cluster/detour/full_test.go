package detour_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/cluster/detour"
	"github.com/rondo-db/rondo/rra"
)

// TestFull fills a spool: from 80 % on it takes no new series, at 100 % nothing, and all that it
// does not take is counted. Samples of a series that it has already are not of a new one.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir, detour.Options{Bytes: 20_000}, nil)
	fill := func(make func(i int) detour.Sample) (kept int, err error) {
		for err == nil {
			if err = b.Add(kept%3, []detour.Sample{make(kept)}); err == nil {
				kept++
			}
		}
		return kept, err
	}
	name := func(i int) string { return "series" + string(rune('a'+i%26)) + string(rune('a'+i/26)) }
	n, err := fill(func(i int) detour.Sample { return sample(name(i), 1000) })
	if st := b.Figures(); !errors.Is(err, detour.ErrNewSeries) || st.Bytes < 15_000 || st.Bytes > 16_000 || st.Dropped[detour.NewSeries] != 1 {
		t.Errorf("new series: %v, %+v", err, st)
	}
	again, err := fill(func(i int) detour.Sample { return sample(name(i%3), 1001+int64(i)) })
	if st := b.Figures(); !errors.Is(err, detour.ErrFull) || again < 50 || st.Bytes < 19_000 || st.Bytes > 20_000 || st.Dropped[detour.Full] != 1 {
		t.Errorf("series that are there: %v, %+v", err, st)
	}
	// Of several samples those that fit are kept.
	long, short := sample(name(0), 9000), sample(name(0), 9001)
	long.Values = make([]rra.Value, 2000)
	for i := range long.Values {
		long.Values[i] = rra.Text(0)
	}
	long.Texts = []string{"a text"}
	if err := b.Add(0, []detour.Sample{long, short}); !errors.Is(err, detour.ErrFull) {
		t.Errorf("a sample that does not fit: %v", err)
	}
	if st := b.Figures(); st.Dropped[detour.Full]+st.Spooled != uint64(n+again+3) || st.Spooled < uint64(n+again) {
		t.Errorf("%d and %d samples were kept, then two added: %+v", n, again, st)
	}
	to := newLeader()
	b.deliver(t, to, nil)
	wantEmpty(t, b, dir)
	if st := b.Figures(); st.Delivered != st.Spooled {
		t.Errorf("got %+v, want all delivered", st)
	}
	add(t, b, 0, sample("another", 1000))
}

// TestRestart closes a spool and opens it again: it knows how much it holds, since when, and which
// series it will make.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir, detour.Options{}, nil)
	for at := range int64(30) {
		add(t, b, int(at%2), sample("p", 1000+at))
	}
	before := b.Figures()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(0, []detour.Sample{sample("p", 2000)}); !errors.Is(err, detour.ErrClosed) {
		t.Errorf("add to a closed spool: %v", err)
	}
	b = open(t, dir, detour.Options{}, nil)
	if st := b.Figures(); st.Bytes != before.Bytes || st.Partitions != 2 || st.Oldest < before.Oldest {
		t.Errorf("got %+v after a restart, %+v before", st, before)
	}
	add(t, b, 0, sample("p", 3000))
	if grown := b.Figures().Bytes - before.Bytes; grown > 40 {
		t.Errorf("a sample of a series that is there takes %d bytes", grown)
	}
	to := newLeader()
	b.deliver(t, to, nil)
	wantEmpty(t, b, dir)
}

// TestDamagedPart flips a bit in one partition's log: it is set aside, and nothing else is lost.
func TestDamagedPart(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir, detour.Options{}, nil)
	for at := range int64(10) {
		add(t, b, 1, sample("p1", 1000+at))
		add(t, b, 2, sample("p2", 1000+at))
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "p0001", "*.wal"))
	if err != nil || len(segments) != 1 {
		t.Fatal(segments, err)
	}
	content, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/3] ^= 1
	if err := os.WriteFile(segments[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	b = open(t, dir, detour.Options{}, nil)
	if st := b.Figures(); st.SetAside != 1 || st.Partitions != 1 || b.Holds(1) {
		t.Errorf("got %+v, want partition 1 set aside", st)
	}
	add(t, b, 1, sample("p1", 2000))
	to := newLeader()
	b.deliver(t, to, nil)
	if len(to.got["p2"]) != 10 || len(to.got["p1"]) != 1 {
		t.Errorf("got %v", to.got)
	}
	if aside, err := filepath.Glob(filepath.Join(dir, "p0001.damaged-*", "*")); err != nil || len(aside) == 0 {
		t.Errorf("the damaged log is not there: %v, %v", aside, err)
	}
}

// TestSeriesCannotBeMade refuses the samples of a series that the leader does not make.
func TestSeriesCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir, detour.Options{}, nil)
	add(t, b, 0, sample("good", 1000), sample("bad", 1000), sample("good", 1001))
	to := &refusing{newLeader()}
	b.deliver(t, to, nil)
	if st := b.Figures(); st.Delivered != 2 || st.Dropped[detour.Refused] != 1 {
		t.Errorf("got %+v", st)
	}
	wantEmpty(t, b, dir)
}
