package shared_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/shared"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/dashboards"
)

// A node is the dashboards of one node.
type node struct {
	*shared.Pages
	dir  string
	logs *bytes.Buffer
}

// start starts a node in a folder. Its own pages are in dir, its copy is in dir/replicas.
func start(t *testing.T, s coord.Store, dir string) *node {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "replicas"), 0o700); err != nil {
		t.Fatal(err)
	}
	n := &node{dir: dir, logs: new(bytes.Buffer)}
	n.Pages = shared.New(shared.Options{
		Bucket: shared.Bucket{Store: s}, Copy: dashboards.In(filepath.Join(dir, "replicas")), Own: dashboards.In(dir),
		Logger: slog.New(slog.NewTextHandler(n.logs, nil)),
	})
	n.Look(t.Context())
	return n
}

// shows fails unless a node shows pages, which are NAME=TEXT, and no others.
func (n *node) shows(t *testing.T, want ...string) {
	t.Helper()
	entries, err := n.ListFor(&access.User{Role: access.Admin})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		text, _, err := n.ReadFor(&access.User{Role: access.Admin}, e.Name)
		if err != nil && !errors.As(err, new(*dashboards.ParseError)) {
			t.Fatal(err)
		}
		got = append(got, e.Name+"="+text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("shows %q, want %q; log: %s", got, want, n.logs)
	}
}

func save(t *testing.T, p interface {
	Save(ctx context.Context, name, text string) error
}, name, text string,
) {
	t.Helper()
	if err := p.Save(t.Context(), name, text); err != nil {
		t.Fatal(err)
	}
}

// TestNodesShareDashboards: what one node saves or drops, the others show after they have looked.
func TestNodesShareDashboards(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	a, b := start(t, s.Client("a"), t.TempDir()), start(t, s.Client("b"), t.TempDir())
	save(t, a, "web", "title: 1")
	a.shows(t, "web=title: 1")
	b.shows(t)
	b.Look(t.Context())
	b.shows(t, "web=title: 1")
	save(t, b, "web", "title: 2")
	save(t, b, "a.b", "")
	a.Look(t.Context())
	a.shows(t, "a.b=", "web=title: 2")
	if err := a.Drop(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	if err := b.Drop(t.Context(), "web"); !errors.Is(err, dashboards.ErrNotFound) {
		t.Errorf("dropped twice: %v", err)
	}
	b.Look(t.Context())
	b.shows(t, "a.b=")
	var p *dashboards.ParseError
	for _, tt := range []struct {
		err  error
		want error
	}{
		{a.Save(t.Context(), "../x", ""), dashboards.ErrName},
		{a.Drop(t.Context(), "../x"), dashboards.ErrName},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%v, want %v", tt.err, tt.want)
		}
	}
	if err := a.Save(t.Context(), "web", "LINE:1"); !errors.As(err, &p) || p.Line != 1 {
		t.Errorf("a wrong text: %v", err)
	}
	if a.logs.Len()+b.logs.Len() > 0 {
		t.Errorf("logged: %s%s", a.logs, b.logs)
	}
}

// TestCopyOutlivesTheServers: while the servers do not answer a node shows what it saw last, also
// after a restart, and saving says that another attempt may succeed.
func TestCopyOutlivesTheServers(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	dir := t.TempDir()
	a, b := start(t, s.Client("a"), dir), start(t, s.Client("b"), t.TempDir())
	save(t, a, "web", "title: 1")
	s.Cut("a", true)
	a = start(t, s.Client("a"), dir)
	a.shows(t, "web=title: 1")
	for _, err := range []error{a.Save(t.Context(), "web", ""), a.Drop(t.Context(), "web")} {
		if !errors.Is(err, core.ErrUnavailable) {
			t.Errorf("while the servers are away: %v", err)
		}
	}
	if !strings.Contains(a.logs.String(), "shown as they were seen last") {
		t.Errorf("log: %s", a.logs)
	}
	b.Look(t.Context())
	save(t, b, "web", "title: 2")
	s.Cut("a", false)
	a.Look(t.Context())
	a.shows(t, "web=title: 2")
}

// TestOwnPages: pages in the folder of a node that starts go into the cluster, unless their names
// are taken.
func TestOwnPages(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	a := start(t, s.Client("a"), t.TempDir())
	save(t, a, "web", "title: 1")
	save(t, a, "same", "title: same")
	dir := t.TempDir()
	own := dashboards.In(dir)
	for name, text := range map[string]string{"web": "title: other", "same": "title: same", "new": "graph: with a mistake\n\x01"} {
		if err := own.Keep(name, text); err != nil {
			t.Fatal(err)
		}
	}
	s.Cut("b", true)
	b := start(t, s.Client("b"), dir)
	s.Cut("b", false)
	b.Look(t.Context())
	b.Look(t.Context())
	want := []string{"new=graph: with a mistake\n\x01", "same=title: same", "web=title: 1"}
	b.shows(t, want...)
	a.Look(t.Context())
	a.shows(t, want...)
	if left, err := own.List(); err != nil || !slices.Equal(left, []dashboards.Entry{{Name: "web", Title: "other"}}) {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
	if !strings.Contains(b.logs.String(), "dashboard=web") {
		t.Errorf("log: %s", b.logs)
	}
	// What is dropped does not come back with the node.
	if err := a.Drop(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	start(t, s.Client("b"), dir).shows(t, "same=title: same", "web=title: 1")
}

// TestBucketMadeAnew: a bucket that has lost everything gets back what a node saw last.
func TestBucketMadeAnew(t *testing.T) {
	dir := t.TempDir()
	save(t, start(t, coordtest.New(time.Now, 0).Client("a"), dir), "web", "title: 1")
	s := coordtest.New(time.Now, 0)
	start(t, s.Client("a"), dir).shows(t, "web=title: 1")
	start(t, s.Client("b"), t.TempDir()).shows(t, "web=title: 1")
}

// TestDashboardsAreNotWithoutNumber: the limit of a folder holds for the cluster.
func TestDashboardsAreNotWithoutNumber(t *testing.T) {
	b := shared.Bucket{Store: coordtest.New(time.Now, 0).Client("a")}
	for i := range dashboards.MaxPages {
		save(t, b, fmt.Sprint(i), "")
	}
	if err := b.Save(t.Context(), "more", ""); !errors.Is(err, dashboards.ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	for range 3 {
		save(t, b, "7", "title: x")
	}
	if err := b.Drop(t.Context(), "8"); err != nil {
		t.Fatal(err)
	}
	save(t, b, "more", "")
	n := 0
	if err := b.Each(t.Context(), func(_, _ string, err error) error { n++; return err }); err != nil || n != dashboards.MaxPages {
		t.Errorf("%d pages, %v", n, err)
	}
}

// TestManySaveAtOnce: each page of nodes that save at the same time is saved, whole.
func TestManySaveAtOnce(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			b := shared.Bucket{Store: s.Client(fmt.Sprint(i))}
			for k := range 20 {
				if err := errors.Join(b.Save(t.Context(), fmt.Sprintf("own%d", i), fmt.Sprint("# ", k)), b.Save(t.Context(), "common", fmt.Sprint("# of ", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var got []string
	err := shared.Bucket{Store: s.Client("x")}.Each(t.Context(), func(name, text string, err error) error {
		if strings.HasPrefix(name, "own") {
			got = append(got, text)
		}
		return err
	})
	if err != nil || len(got) != 8 || slices.ContainsFunc(got, func(s string) bool { return s != "# 19" }) {
		t.Errorf("%q, %v", got, err)
	}
	texts, err := s.Truth().List(t.Context(), "dashboards.text.")
	if err != nil || len(texts) > 9+8 { // an attempt that was overtaken may leave its text
		t.Errorf("%d texts of 9 pages are in the bucket, %v", len(texts), err)
	}
}
