package access

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A User is who sends a request. It does not change.
type User struct {
	Name    string   // empty: nobody has said who it is
	Role    Role     // what the user may do
	Folders []string // the folders that the user reaches; nil: every series. See [Folders]
}

// everybody is the user of a context that has none: the program itself.
var everybody = &User{Role: Admin}

// Everything returns the user who may do everything everywhere.
func Everything() *User { return everybody }

type userKey struct{}

// With returns a context whose requests are a user's.
func With(ctx context.Context, u *User) context.Context { return context.WithValue(ctx, userKey{}, u) }

// From returns the user of a context; [Everything] if it has none.
func From(ctx context.Context) *User {
	if u, ok := ctx.Value(userKey{}).(*User); ok && u != nil {
		return u
	}
	return everybody
}

// Limited reports whether the user reaches only the series in some folders.
func (u *User) Limited() bool { return u.Folders != nil }

// Reaches reports whether a path is one of the user's folders, or below one. The path is cleaned as
// the store cleans it; a trailing .rrd does not count.
func (u *User) Reaches(name string) bool {
	if !u.Limited() {
		return true
	}
	name = clean(name)
	for _, f := range u.Folders {
		if name == f || strings.HasPrefix(name, f+"/") {
			return true
		}
	}
	return false
}

// clean returns the look-up key of a path.
func clean(name string) string {
	return strings.TrimSuffix(path.Clean(strings.TrimLeft(name, "/")), ".rrd")
}

// ErrDenied says that a user may not do something.
var ErrDenied = errors.New("permission denied")

// Check returns an error that wraps ErrDenied if the user does not reach a path. The error is the
// same whether or not there is such a series.
func (u *User) Check(name string) error {
	if u.Reaches(name) {
		return nil
	}
	return fmt.Errorf("%w: %.200q is not below %s, which %s is limited to", ErrDenied, name, u.folders(), u)
}

// Need returns an error that wraps ErrDenied if the user's role is less than a role.
func (u *User) Need(r Role) error {
	if u.Role >= r {
		return nil
	}
	return fmt.Errorf("%w: this needs the role %s, and %s has the role %s", ErrDenied, r, u, u.Role)
}

// NeedAll returns an error that wraps ErrDenied if the user is limited to folders.
func (u *User) NeedAll() error {
	if !u.Limited() {
		return nil
	}
	return fmt.Errorf("%w: this is about all series, and %s is limited to those below %s", ErrDenied, u, u.folders())
}

// String returns the name of the user for messages.
func (u *User) String() string {
	if u.Name == "" {
		return "who sends no credentials"
	}
	return fmt.Sprintf("the user %.100q", u.Name)
}

// folders returns the user's folders for messages.
func (u *User) folders() string {
	const most = 3
	quoted := make([]string, 0, most)
	for _, f := range u.Folders[:min(most, len(u.Folders))] {
		quoted = append(quoted, fmt.Sprintf("%.100q", f))
	}
	text := strings.Join(quoted, ", ")
	if n := len(u.Folders) - most; n > 0 {
		text += fmt.Sprintf(" and %d others", n)
	}
	return text
}

// Folders returns paths as the folders of a user: cleaned, in order, and without those that are
// below another one. It returns an error if a path is empty or leads above the top.
func Folders(paths []string) ([]string, error) {
	all := make([]string, 0, len(paths))
	for _, p := range paths {
		f := path.Clean(strings.Trim(p, "/"))
		if f == "." || f == ".." || strings.HasPrefix(f, "../") {
			return nil, fmt.Errorf("%.200q is no folder of series", p)
		}
		all = append(all, clean(f))
	}
	slices.Sort(all)
	u, out := &User{Folders: []string{}}, []string{}
	for _, f := range all { // a folder sorts before what is below it
		if !u.Reaches(f) {
			out = append(out, f)
			u.Folders = out
		}
	}
	return out, nil
}

// Within returns the folders that two users both reach, as a user's field Folders.
func Within(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := []string{}
	for _, pair := range [][2][]string{{a, b}, {b, a}} {
		of := &User{Folders: pair[1]}
		for _, f := range pair[0] {
			if of.Reaches(f) && !slices.Contains(both, f) {
				both = append(both, f)
			}
		}
	}
	slices.Sort(both)
	return both
}

// A Role is how much a user may do. Each role may do what those before it may do.
type Role int

// The roles.
const (
	None  Role = iota // nothing
	Read              // look at series, rows, notes, graphs and pages
	Write             // store samples, notes and metadata, make series, save dashboards
	Admin             // drop, rename, change and overwrite series, back up, check, command the server
)

var roleNames = [...]string{"none", "read", "write", "admin"}

func (r Role) String() string {
	if r < None || r > Admin {
		return fmt.Sprintf("role %d", int(r))
	}
	return roleNames[r]
}

// ParseRole returns the role of a name: none, read, write or admin.
func ParseRole(name string) (Role, error) {
	for i, n := range roleNames {
		if n == name {
			return Role(i), nil
		}
	}
	return None, fmt.Errorf("there is no role %.40q: want none, read, write or admin", name)
}
