package shared_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/shared"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/dashboards"
)

// TestFaultyServers: servers lose requests and answers, deliver late and answer with what was long
// ago. Every page that was reported as saved, and was saved by nobody else after, is there in the
// end, and no text is of another page.
func TestFaultyServers(t *testing.T) {
	for seed := range uint64(40) {
		now := time.Unix(1_700_000_000, 0)
		s := coordtest.New(func() time.Time { return now }, seed+1)
		// The texts that a page may have: the text of the last call that succeeded, and of later
		// ones whose outcome is not known.
		may := make(map[string]map[string]bool)
		for i := range 300 {
			name := fmt.Sprintf("p%d", i%5)
			b := shared.Bucket{Store: s.Client(fmt.Sprintf("n%d", i%3))}
			text := fmt.Sprintf("# %s %d", name, i)
			drop := i%7 == 0
			var err error
			if drop {
				text = ""
				err = b.Drop(t.Context(), name)
			} else {
				err = b.Save(t.Context(), name, text)
			}
			if err == nil || may[name] == nil {
				// A request that is late must not change what was answered after it.
				may[name] = make(map[string]bool)
			}
			if err != nil && !drop && len(may[name]) == 0 {
				may[name][""] = true
			}
			may[name][text] = true
			now = now.Add(time.Duration(i%4) * time.Second)
		}
		s.Heal()
		now = now.Add(time.Minute) // what is late arrives
		b := shared.Bucket{Store: s.Client("x")}
		got := texts(t, b)
		for name, all := range may {
			if !all[got[name]] {
				t.Errorf("seed %d: %s is %q, and may be %v", seed, name, got[name], all)
			}
		}
	}
}

// TestHostileBucket: whatever stands in the bucket, a node shows what it saw last, or what is right
// of it, and says so.
func TestHostileBucket(t *testing.T) {
	digest := strings.Repeat("0", 32)
	for _, tt := range []struct{ key, value, want string }{
		{"dashboards.list", "!", "the list"},
		{"dashboards.list", `{"version":3,"pages":{}}`, "its version is 3"},
		{"dashboards.list", strings.Repeat(" ", 1<<20) + "{}", "bytes"},
		{"dashboards.text.", "another text", "not the one that was saved"},
	} {
		s := coordtest.New(time.Now, 0)
		a := start(t, s.Client("a"), t.TempDir())
		save(t, a, "web", "title: 1")
		truth := s.Truth()
		key := tt.key
		if strings.HasSuffix(key, ".") {
			texts, err := truth.List(t.Context(), key)
			if err != nil || len(texts) != 1 {
				t.Fatal(texts, err)
			}
			key = texts[0].Key
		}
		e, err := truth.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := truth.CompareAndSet(t.Context(), key, []byte(tt.value), e.Revision); err != nil {
			t.Fatal(err)
		}
		b := start(t, s.Client("b"), t.TempDir())
		b.Look(t.Context())
		b.shows(t)
		a.Look(t.Context())
		a.shows(t, "web=title: 1")
		if !strings.Contains(b.logs.String(), tt.want) {
			t.Errorf("%.40q: log: %s", tt.value, b.logs)
		}
		if err := b.Save(t.Context(), "x", ""); (err != nil) != (tt.key == "dashboards.list") {
			t.Errorf("%.40q: saved: %v", tt.value, err)
		}
	}
	// Entries that cannot be right are left out, and names do not lead out of the folder.
	s := coordtest.New(time.Now, 0)
	list := fmt.Sprintf(`{"version":2,"pages":{"../x":{"digest":%[1]q},"a":{"digest":%[1]q},"b":{}}}`, digest)
	if _, err := s.Truth().CompareAndSet(t.Context(), "dashboards.list", []byte(list), 0); err != nil {
		t.Fatal(err)
	}
	a := start(t, s.Client("a"), t.TempDir())
	a.shows(t)
	save(t, a, "ok", "")
	a.shows(t, "ok=")
}

// TestLongAndBinaryTexts: a text that no page can have is not shown, even if the list has its
// digest.
func TestLongAndBinaryTexts(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	b := shared.Bucket{Store: s.Client("a")}
	save(t, b, "binary", "\xff")
	save(t, b, "long", strings.Repeat("#", dashboards.MaxText+1))
	save(t, b, "ok", "")
	a := start(t, s.Client("a"), t.TempDir())
	a.shows(t, "ok=")
	if strings.Count(a.logs.String(), dashboards.ErrFile.Error()) != 2 {
		t.Errorf("log: %s", a.logs)
	}
	left := 0
	err := b.Each(t.Context(), func(_, _ string, err error) error {
		if errors.Is(err, dashboards.ErrFile) {
			left++
		}
		return nil
	})
	if err != nil || left != 2 {
		t.Errorf("%d, %v", left, err)
	}
}

// hooked calls before with the key of each value that is about to be set. If that returns false,
// the request is lost.
type hooked struct {
	coord.Store
	before func(key string) bool
}

func (h hooked) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if !h.before(key) {
		return 0, coordtest.ErrNoAnswer
	}
	return h.Store.CompareAndSet(ctx, key, value, revision)
}

// TestTextOnItsWay: a text that is there, and not yet in the list, is not written over by another
// node that saves and does not get so far as to change the list.
func TestTextOnItsWay(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	b := shared.Bucket{Store: hooked{s.Client("b"), func(key string) bool { return key != "dashboards.list" }}}
	a := shared.Bucket{Store: hooked{s.Client("a"), func(key string) bool {
		if key == "dashboards.list" {
			if err := b.Save(t.Context(), "web", "# of b"); !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("b: %v", err)
			}
		}
		return true
	}}}
	for _, text := range []string{"# 1", "# 2"} {
		save(t, a, "web", text)
		if got := texts(t, a); !maps.Equal(got, map[string]string{"web": text}) {
			t.Errorf("after %q was saved: %q", text, got)
		}
	}
}

// texts returns all pages of a bucket.
func texts(t *testing.T, b shared.Bucket) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := b.Each(t.Context(), func(name, text string, err error) error {
		all[name] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTooLongForTheServers: servers that take short messages only make a page a wrong one.
func TestTooLongForTheServers(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	b := shared.Bucket{Store: short{s.Client("a")}}
	for name, text := range map[string]string{"long": strings.Repeat("#", 200), "a-name-that-makes-the-list-long": ""} {
		var p *dashboards.ParseError
		if err := b.Save(t.Context(), name, text); !errors.As(err, &p) || !strings.Contains(err.Error(), "max_payload") {
			t.Errorf("%s: %v", name, err)
		}
	}
	save(t, b, "a", "")
}

// short takes values of 144 bytes.
type short struct{ coord.Store }

func (s short) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if len(value) > 144 {
		return 0, coord.ErrTooLong
	}
	return s.Store.CompareAndSet(ctx, key, value, revision)
}
