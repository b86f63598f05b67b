package access_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/internal/access"
)

func TestReaches(t *testing.T) {
	folders, err := access.Folders([]string{"/team/a/", "b", "team/a/below", "c.rrd"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"b", "c", "team/a"}; !slices.Equal(folders, want) {
		t.Errorf("folders %q, want %q", folders, want)
	}
	u := &access.User{Name: "tenant", Role: access.Write, Folders: folders}
	for path, want := range map[string]bool{
		"team/a": true, "team/a/x": true, "/team/a/x": true, "team//a/./x": true, "team/a.rrd": true, "b/c/d": true, "c": true,
		"team/a/../a/x": true, "team/a/../b": false, "team": false, "team/ab": false, "team/a-b/x": false, "": false, "/": false,
		"..": false, "../b": false, "b/../../b": false, "x/b": false, "team/a.rrd/x": false, "B": false,
	} {
		if got := u.Reaches(path); got != want {
			t.Errorf("%q: reached %v, want %v", path, got, want)
		}
		if err := u.Check(path); (err == nil) != want || err != nil && !errors.Is(err, access.ErrDenied) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if u.NeedAll() == nil || u.Need(access.Admin) == nil || u.Need(access.Read) != nil {
		t.Error("a limited writer is taken for somebody else")
	}
	nobody := &access.User{Role: access.Admin, Folders: []string{}}
	if nobody.Reaches("a") || !nobody.Limited() {
		t.Error("a user without folders reaches a series")
	}
}

func TestFoldersAreBelowTheTop(t *testing.T) {
	for _, path := range []string{"", "/", ".", "..", "../a", "a/../..", "a/.."} {
		if got, err := access.Folders([]string{path}); err == nil {
			t.Errorf("%q is taken as %q", path, got)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct{ a, b, want []string }{
		{nil, nil, nil},
		{nil, []string{"a"}, []string{"a"}},
		{[]string{"a"}, nil, []string{"a"}},
		{[]string{"a"}, []string{"a/b", "c"}, []string{"a/b"}},
		{[]string{"a/b", "d"}, []string{"a", "d"}, []string{"a/b", "d"}},
		{[]string{"a"}, []string{"b"}, []string{}},
	} {
		if got := access.Within(tt.a, tt.b); !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%q within %q: %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestFrom(t *testing.T) {
	if u := access.From(context.Background()); u.Role != access.Admin || u.Limited() || u.Name != "" {
		t.Errorf("without a user: %+v", u)
	}
	u := &access.User{Name: "x"}
	if access.From(access.With(context.Background(), u)) != u {
		t.Error("the user is lost")
	}
}

func TestParseRole(t *testing.T) {
	for r := access.None; r <= access.Admin; r++ {
		if got, err := access.ParseRole(r.String()); err != nil || got != r {
			t.Errorf("%s: %v, %v", r, got, err)
		}
	}
	for _, name := range []string{"", "Admin", "root"} {
		if r, err := access.ParseRole(name); err == nil {
			t.Errorf("%q is the role %s", name, r)
		}
	}
}
