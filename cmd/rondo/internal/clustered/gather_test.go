package clustered

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/engine/core"
)

// parts are the partitions of a cluster in this process. The first attempt of each breaks off.
type parts struct {
	stores []*core.Store

	mu   sync.Mutex // guards what follows
	fail map[int]error
}

func (p *parts) Partitions() int { return len(p.stores) }

func (p *parts) Backup(ctx context.Context, i int, w io.Writer) error {
	p.mu.Lock()
	err := p.fail[i]
	if errors.Is(err, core.ErrUnavailable) {
		delete(p.fail, i)
	}
	p.mu.Unlock()
	if err != nil {
		_, _ = w.Write([]byte("half of it")) // err is reported
		return err
	}
	return p.stores[i].Backup(ctx, w)
}

// A cluster becomes a database of one machine. A leader that is lost meanwhile makes it begin that
// partition again, and what a killed process has left is no obstacle.
func TestGather(t *testing.T) {
	p := &parts{stores: []*core.Store{store(t, "a", "rondo/n/x"), store(t, "b/c"), store(t)}}
	p.fail = map[int]error{1: fmt.Errorf("gone: %w", core.ErrUnavailable)}
	if err := p.stores[1].AddNote(t.Context(), "b", core.Note{Time: 1, Text: "n"}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "db")
	for _, left := range []string{gatherPart, gatherDB} {
		if err := os.MkdirAll(filepath.Join(dir+partialSuffix, left), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir+partialSuffix, left, "rondo.bolt"), []byte("rest"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Gather(t.Context(), p, dir, GatherOptions{Memory: 64 << 20})
	if err != nil || got.Series != 3 || got.Copied != 3 || got.Own != 1 || got.Notes != 1 || got.Last.Before(got.First) {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := os.Stat(dir + partialSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the working folder is left: %v", err)
	}
	s, err := core.Open(dir, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if n := s.Stats().Series; n != 3 {
		t.Errorf("%d series", n)
	}
	problems, err := s.Check(t.Context())
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if _, err := Gather(t.Context(), p, dir, GatherOptions{}); err == nil || err.Error() != dir+" is not empty" {
		t.Errorf("into a folder that has something: %v", err)
	}
}

// A partition that cannot be had ends it, and leaves nothing behind.
func TestGatherFails(t *testing.T) {
	broken := errors.New("it is broken")
	p := &parts{stores: []*core.Store{store(t, "a"), store(t, "b")}, fail: map[int]error{1: broken}}
	dir := t.TempDir()
	if _, err := Gather(t.Context(), p, filepath.Join(dir, "db"), GatherOptions{Memory: 64 << 20}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// Two at once do not remove each other's files.
func TestGatherTwice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	other, err := core.Open(filepath.Join(dir+partialSuffix, gatherDB), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := Gather(t.Context(), &parts{stores: []*core.Store{store(t, "a")}}, dir, GatherOptions{}); !errors.Is(err, core.ErrLocked) {
		t.Error(err)
	}
}

// A partition that has no leader is waited for twice, and Gather ends.
func TestGatherWithoutLeader(t *testing.T) {
	p := &leaderlessParts{}
	_, err := Gather(t.Context(), p, filepath.Join(t.TempDir(), "db"), GatherOptions{Memory: 64 << 20})
	if !errors.Is(err, errLeaderless) || !strings.Contains(err.Error(), "backup of partition 0: it has no leader, and no node of the cluster runs") || p.asked != 2 {
		t.Errorf("%v, after %d attempts", err, p.asked)
	}
}

type leaderlessParts struct{ asked int }

func (*leaderlessParts) Partitions() int { return 1 }

func (p *leaderlessParts) Backup(context.Context, int, io.Writer) error {
	p.asked++
	return fmt.Errorf("%w: %w", leaderless(&coord.View{}), core.ErrUnavailable)
}
