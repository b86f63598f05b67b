package shared_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
)

// overtaken calls then, once, when a list was written.
type overtaken struct {
	coord.Store
	then func()
}

func (o *overtaken) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	revision, err := o.Store.CompareAndSet(ctx, key, value, revision)
	if then := o.then; then != nil && key == "dashboards.list" {
		o.then = nil
		then()
	}
	return revision, err
}

// TestOvertakenChange: another node saves a page, and this node sees that, before its own change of
// the page has reached its copy. The copy kept the older change until somebody saved a page again.
func TestOvertakenChange(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	o := &overtaken{Store: s.Client("a")}
	a, b := start(t, o, t.TempDir()), start(t, s.Client("b"), t.TempDir())
	for what, change := range map[string]func() error{
		"saved":   func() error { return a.Save(t.Context(), "web", "title: of a") },
		"dropped": func() error { return a.Drop(t.Context(), "web") },
	} {
		save(t, a, "web", "title: at first")
		o.then = func() {
			save(t, b, "web", "title: of b")
			a.Look(t.Context())
		}
		if err := change(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		a.Look(t.Context())
		a.shows(t, "web=title: of b")
	}
}

// TestSameTextAgain: a page that is dropped is saved again with the text that it had, before that
// text was removed.
func TestSameTextAgain(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	o := &overtaken{Store: s.Client("a")}
	a, b := start(t, o, t.TempDir()), start(t, s.Client("b"), t.TempDir())
	save(t, a, "web", "title: at first")
	o.then = func() { save(t, b, "web", "title: at first") }
	if err := a.Drop(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	save(t, b, "web", "title: at first")
	start(t, s.Client("c"), t.TempDir()).shows(t, "web=title: at first")
	if texts, err := s.Truth().List(t.Context(), "dashboards.text."); err != nil || len(texts) != 1 {
		t.Errorf("%d texts of one page are kept, %v", len(texts), err)
	}
}
