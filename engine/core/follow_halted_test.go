package core_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// A passFunc is what a tap does to a record.
type passFunc func(p wal.Pos, rec []byte) (wal.Pos, []byte, error)

// holes are the ways in which a log may lack the record at a position.
var holes = []struct {
	name string
	is   func(error) bool
	pass func(bad wal.Pos) passFunc             // what a tap does, or nil
	harm func(log *waltest.Stream, bad wal.Pos) // to the log, for good, or nil
}{
	{name: "a hole", is: isHole, pass: denies(wal.ErrHole)},
	{name: "a corrupt record", is: isCorrupt, pass: denies(&wal.CorruptError{Segment: 1, Offset: 2, Err: errors.New("checksum")})},
	{name: "a truncated log", is: isTruncated, pass: denies(&wal.TruncatedError{First: 1 << 40})},
	{name: "a record left out", is: isHole, pass: moves(1)},
	{name: "a record twice", is: isHole, pass: moves(-1)},
	{name: "a position far ahead", is: isHole, pass: moves(1 << 40)},
	{name: "a record lost by the stream", is: isHole, harm: (*waltest.Stream).Lose},
	{name: "a record damaged in the stream", is: isCorrupt, harm: (*waltest.Stream).Damage},
}

func isHole(err error) bool      { return errors.Is(err, wal.ErrHole) }
func isTruncated(err error) bool { return errors.Is(err, wal.ErrTruncated) }

func isCorrupt(err error) bool {
	_, ok := errors.AsType[*wal.CorruptError](err)
	return ok
}

// denies ends the log with err at a position.
func denies(err error) func(wal.Pos) passFunc {
	return func(bad wal.Pos) passFunc {
		return func(p wal.Pos, rec []byte) (wal.Pos, []byte, error) {
			if p >= bad {
				return p, nil, err
			}
			return p, rec, nil
		}
	}
}

// moves gives away the records from a position on under another position.
func moves(by int64) func(wal.Pos) passFunc {
	return func(bad wal.Pos) passFunc {
		return func(p wal.Pos, rec []byte) (wal.Pos, []byte, error) {
			if p >= bad {
				p = wal.Pos(int64(p) + by)
			}
			return p, rec, nil
		}
	}
}

// A fedLog is a log, its leader, a position in the midst of it, and a store that stands right before
// that.
type fedLog struct {
	log     *waltest.Stream
	lead    *core.Store
	feeder  *feeder
	bad     wal.Pos
	witness *core.Store
	told    []string // by the witness
}

func newFedLog(t *testing.T) *fedLog {
	t.Helper()
	l := &fedLog{log: waltest.NewStream(1)}
	l.lead = mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, l.log))
	mustPromote(t, l.lead)
	l.feeder = newFeeder(t, l.lead, 40)
	for i := range 3 {
		l.feeder.mustFeed(30)
		path := fmt.Sprintf("host/%d", i)
		if _, err := l.lead.SetMetadata(t.Context(), []core.PathMetadata{{Path: path, Metadata: core.Metadata{Text: "x"}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.lead.Relabel(t.Context(), []core.PathLabels{{Path: path, Labels: []core.Label{{Name: "l", Value: "x"}}}}); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			l.bad = l.lead.Acknowledged() + 5
		}
	}
	l.witness = mustOpen(t, t.TempDir(), newTap(l.log, l.bad-1).options(core.Options{NoBackground: true}))
	awaitAt(t, l.witness, l.bad-1)
	return l
}

func (l *fedLog) close(t *testing.T) {
	t.Helper()
	mustClose(t, l.lead.Close())
	mustClose(t, l.witness.Close())
}

// mustHalt waits until a store is halted right before the bad record, and makes every call of it
// that reads. What it says is what the witness says, who never met the record.
func (l *fedLog) mustHalt(t *testing.T, what string, s *core.Store, is func(error) bool) {
	t.Helper()
	st := awaitRole(t, s, core.Halted)
	if !is(st.Err) || st.Position != l.bad-1 || s.Position() != st.Position || s.Role() != core.Halted {
		t.Fatalf("%s: it stands as %+v, want position %d", what, st, l.bad-1)
	}
	same(t, what, s, l.witness)
	l.reads(t, what, s)
	if err := s.WaitFor(t.Context(), l.bad-1); err != nil {
		t.Errorf("%s: wait for its own position: %v", what, err)
	}
	if err := s.WaitFor(t.Context(), l.bad); !is(err) {
		t.Errorf("%s: wait for the bad record: %v", what, err)
	}
	if err := s.Promote(t.Context()); !is(err) || s.Role() != core.Halted {
		t.Errorf("%s: promote: %v, it is %v", what, err, s.Role())
	}
	if err := l.feeder.reopened(s).feed(1); !errors.Is(err, core.ErrNotLeader) {
		t.Errorf("%s: append: %v", what, err)
	}
}

// reads compares rows, states and selections with the witness'.
func (l *fedLog) reads(t *testing.T, what string, s *core.Store) {
	t.Helper()
	ctx := t.Context()
	told := func(s *core.Store) []string {
		var out []string
		for _, ref := range l.feeder.refs[:10] {
			info, err := s.Info(ref)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			rows, err := s.Fetch(ctx, ref, 0, programStart, programStart+1200)
			out = append(out, fmt.Sprint(info.Path, info.State.W, rows.Start, rows.Values, err))
		}
		err := s.FetchMany(ctx, core.Spans(l.feeder.refs, 1, programStart, programStart+1200), func(i int, r *core.Rows, err error) {
			out = append(out, fmt.Sprint(i, r.Values, err))
		})
		out = append(out, fmt.Sprint(err))
		for x, err := range s.Select(ctx, core.Query{Matchers: []core.Matcher{{Name: "l", Value: "x"}}, Order: core.ByRef}) {
			out = append(out, fmt.Sprint(x, err))
		}
		st := s.Stats()
		return append(out, fmt.Sprint(st.Series, st.Metadata))
	}
	if l.told == nil {
		l.told = told(l.witness)
	}
	if got := told(s); !slices.Equal(got, l.told) {
		t.Errorf("%s: reads differ from those of a store that never met the record", what)
	}
}

// TestFollowerHalts lets a follower meet a log that lacks a record: while it follows, and when it is
// opened. It halts before the record, says why, is read as it was, and applies nothing behind it.
// When the log is whole again it goes on. A backup of the leader gives it its place back, and its
// own backup is good.
func TestFollowerHalts(t *testing.T) {
	for i, h := range holes {
		for _, early := range []bool{false, true} { // the log lacks the record before it is opened
			if seedtest.Often(1, 2) == 1 && early != (i%2 == 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s, early=%v", h.name, early), func(t *testing.T) {
				l := newFedLog(t)
				tp := newTap(l.log, l.bad-7)
				var pass passFunc
				if h.pass != nil {
					pass = h.pass(l.bad)
				}
				if early {
					tp.all()
				}
				if h.harm != nil {
					h.harm(l.log, l.bad)
				} else {
					tp.fail(nil, pass)
				}
				dir := t.TempDir()
				s := mustOpen(t, dir, tp.options(core.Options{NoBackground: true}))
				if !early {
					awaitAt(t, s, l.bad-7)
					mustClose(t, s.Checkpoint(t.Context()))
					tp.all()
				}
				l.mustHalt(t, "halted", s, h.is)
				mustClose(t, s.Checkpoint(t.Context()))
				if p := s.Checkpointed(); p != l.bad-1 {
					t.Errorf("a checkpoint at %d, want %d", p, l.bad-1)
				}
				l.mustHalt(t, "after a checkpoint", s, h.is)
				mustClose(t, s.Demote(t.Context())) // tries again
				l.mustHalt(t, "tried again", s, h.is)
				var own bytes.Buffer
				mustClose(t, s.Backup(t.Context(), &own))
				mustClose(t, s.Abandon())
				s = mustOpen(t, dir, tp.options(core.Options{NoBackground: true}))
				l.mustHalt(t, "opened again", s, h.is)
				var backup bytes.Buffer
				mustClose(t, l.lead.Backup(t.Context(), &backup))
				if h.harm == nil {
					tp.fail(nil, nil)
					mustClose(t, s.Demote(t.Context()))
					await(t, s, l.log)
					same(t, "mended", s, l.lead)
					l.takesItsPlace(t, &own)
				}
				mustClose(t, s.Close())
				l.takesItsPlace(t, &backup)
				l.close(t)
			})
		}
	}
}

// takesItsPlace restores a backup as a store that follows.
func (l *fedLog) takesItsPlace(t *testing.T, backup *bytes.Buffer) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	mustClose(t, core.RestoreReplica(backup, dir))
	s := mustOpen(t, dir, shared(core.Options{NoBackground: true}, l.log))
	await(t, s, l.log)
	same(t, "restored", s, l.lead)
	mustClose(t, s.Close())
}

// TestPromotionMeetsAHole promotes a follower whose log lacks a record that it has not applied: it
// does not lead, and halts.
func TestPromotionMeetsAHole(t *testing.T) {
	for _, h := range holes {
		if h.harm == nil {
			continue
		}
		l := newFedLog(t)
		tp := newTap(l.log, l.bad-3)
		s := mustOpen(t, t.TempDir(), tp.options(core.Options{NoBackground: true}))
		awaitAt(t, s, l.bad-3)
		h.harm(l.log, l.bad)
		if err := s.Promote(t.Context()); !h.is(err) {
			t.Errorf("%s: promote: %v", h.name, err)
		}
		tp.all()
		l.mustHalt(t, h.name, s, h.is)
		mustClose(t, s.Close())
		l.close(t)
	}
}

// TestLogTruncatedBehindAFollower truncates the log beyond a follower that is connected, and then
// loses the connection.
func TestLogTruncatedBehindAFollower(t *testing.T) {
	l := newFedLog(t)
	tp := newTap(l.log, l.bad-1)
	s := mustOpen(t, t.TempDir(), tp.options(core.Options{NoBackground: true}))
	awaitAt(t, s, l.bad-1)
	mustClose(t, l.lead.Checkpoint(t.Context()))
	mustClose(t, l.lead.Truncate(l.bad))
	if p := l.log.Reader(); p.Last() != l.lead.Position() {
		t.Errorf("the log ends at %d, the leader is at %d", p.Last(), l.lead.Position())
	}
	tp.fail(nil, denies(fmt.Errorf("no connection: %w", wal.ErrRetry))(l.bad))
	tp.all()
	l.witnessHalts(t)
	st := awaitRole(t, s, core.Halted)
	if !isTruncated(st.Err) || st.Position != l.bad-1 {
		t.Errorf("it stands as %+v, want position %d", st, l.bad-1)
	}
	sameDigest(t, "halted", mustDigest(t, s), mustDigest(t, l.witness))
	l.reads(t, "halted", s)
	var backup bytes.Buffer
	mustClose(t, l.lead.Backup(t.Context(), &backup))
	mustClose(t, s.Close())
	l.takesItsPlace(t, &backup)
	l.close(t)
}

// witnessHalts checks that a follower that reads the old records without a break is not halted.
func (l *fedLog) witnessHalts(t *testing.T) {
	t.Helper()
	if st, _ := l.witness.Standing(); st.Role != core.Follower || st.Position != l.bad-1 {
		t.Errorf("a follower that has lost nothing: %+v", st)
	}
}

// TestFollowerMeetsNonsense gives a follower a record that cannot be applied: it halts, its position
// and its checkpoints stay before the record, and when it is opened with the right record it goes
// on. Shards that did not see what is wrong may be further, by what was given to them.
func TestFollowerMeetsNonsense(t *testing.T) {
	for name, nonsense := range map[string][]byte{
		"nothing":                      {},
		"samples":                      {record.KindSamples, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"samples that are cut":         {record.KindSamples, 4, 0},
		"a run of no kind":             {record.KindSamples, 3 | 1<<2, 0, 0, 0, 0, 0},
		"samples of no group":          {record.KindSamples, 0, 99, 20, 2, 0, 0, 1, 0},
		"a creation that is cut":       {record.KindCreate, 1},
		"metadata that makes no sense": {record.KindNote, 0xff, 0xff},
	} {
		t.Run(name, func(t *testing.T) {
			l := newFedLog(t)
			tp := newTap(l.log, 1<<62)
			tp.fail(nil, func(p wal.Pos, rec []byte) (wal.Pos, []byte, error) {
				if p == l.bad {
					return p, nonsense, nil
				}
				return p, rec, nil
			})
			dir := t.TempDir()
			s := mustOpen(t, dir, tp.options(core.Options{NoBackground: true}))
			for range 2 {
				st := awaitRole(t, s, core.Halted)
				if st.Err == nil || st.Position >= l.bad {
					t.Errorf("it stands as %+v, the record is at %d", st, l.bad)
				}
				mustClose(t, s.Checkpoint(t.Context()))
				if p := s.Checkpointed(); p >= l.bad {
					t.Errorf("a checkpoint at %d, the record is at %d", p, l.bad)
				}
				mustClose(t, s.Demote(t.Context()))
				if s.Role() != core.Halted {
					st = awaitRole(t, s, core.Halted)
				}
				if err := s.WaitFor(t.Context(), l.bad); err == nil {
					t.Error("it applied the record")
				}
				if err := s.Promote(t.Context()); err == nil {
					t.Error("it leads")
				}
				if _, err := s.Fetch(t.Context(), l.feeder.refs[0], 0, programStart, programStart+1200); err != nil {
					t.Errorf("fetch of a halted store: %v", err)
				}
				mustClose(t, s.Abandon())
				s = mustOpen(t, dir, tp.options(core.Options{NoBackground: true}))
			}
			awaitRole(t, s, core.Halted)
			mustClose(t, s.Close())
			s = mustOpen(t, dir, shared(core.Options{NoBackground: true}, l.log))
			await(t, s, l.log)
			same(t, "with the right record", s, l.lead)
			f := l.feeder.reopened(s)
			mustPromote(t, s)
			f.mustFeed(2)
			f.verify()
			mustClose(t, s.Close())
			l.close(t)
		})
	}
}
