package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A View is a store as one user sees it. Series outside the user's folders are not yielded. A path
// outside is refused with an error that wraps [ErrDenied], and a reference outside with one that
// wraps core.ErrNotFound, both whether or not there is such a series. The methods do what
// core.Store's do.
type View struct {
	store core.Engine
	user  *User
	roles bool // what a command does needs its role, too
}

// Of returns a store as the user of ctx sees it.
func Of(ctx context.Context, s core.Engine) View { return View{s, From(ctx), false} }

// Lookup returns the series of a path.
func (v View) Lookup(path string) (core.Ref, error) {
	if err := v.user.Check(path); err != nil {
		return 0, err
	}
	return v.store.Lookup(path)
}

// Series returns the catalogue entry of a reference.
func (v View) Series(ref core.Ref) (core.Series, error) {
	e, err := core.SeriesOf(context.Background(), v.store, ref)
	if err == nil && !v.user.Reaches(e.Path) {
		return core.Series{}, noRef(ref)
	}
	if v.user.Limited() && errors.Is(err, core.ErrNotFound) {
		err = noRef(ref)
	}
	return e, err
}

// noRef is the error for a reference that a limited user does not reach, or that has no series.
func noRef(ref core.Ref) error { return fmt.Errorf("ref %d: %w", ref, core.ErrNotFound) }

// may returns an error unless the user has a role, if that is needed, and reaches a series.
func (v View) may(r Role, ref core.Ref) error {
	if err := v.need(r); err != nil || !v.user.Limited() {
		return err
	}
	_, err := v.Series(ref)
	return err
}

// need returns an error unless the user has a role, if that is needed.
func (v View) need(r Role) error {
	if !v.roles {
		return nil
	}
	return v.user.Need(r)
}

// Info returns the definition and the state of a series.
func (v View) Info(ref core.Ref) (core.Info, error) {
	if err := v.may(Read, ref); err != nil {
		return core.Info{}, err
	}
	return v.store.Info(ref)
}

// Metadata returns the metadata of a path.
func (v View) Metadata(path string) (core.Metadata, error) {
	if err := v.user.Check(path); err != nil {
		return core.Metadata{}, err
	}
	return core.MetadataOf(context.Background(), v.store, path)
}

// Notes returns the notes under a key, and under keys below it.
func (v View) Notes(ctx context.Context, key string) (map[string][]core.Note, error) {
	notes, err := v.store.Notes(ctx, key)
	if v.user.Limited() {
		maps.DeleteFunc(notes, func(k string, _ []core.Note) bool { return !v.user.Reaches(k) })
	}
	return notes, err
}

// Select yields the series of a query.
func (v View) Select(ctx context.Context, q core.Query) iter.Seq2[core.Series, error] {
	if q.Order == core.ByPath {
		return within(v.user, q.Prefix, func(prefix string) iter.Seq2[core.Series, error] {
			q := q
			q.Prefix = prefix
			return v.store.Select(ctx, q)
		}, func(e *core.Series) string { return e.Path })
	}
	q.Matchers = v.user.Below(q.Matchers)
	return func(yield func(core.Series, error) bool) {
		for e, err := range v.store.Select(ctx, q) {
			if !yield(e, v.user.Hide(err)) {
				return
			}
		}
	}
}

// ListMetadata yields the metadata of paths that begin with prefix and sort after after.
func (v View) ListMetadata(ctx context.Context, prefix, after string) iter.Seq2[core.PathMetadata, error] {
	list := func(prefix string) iter.Seq2[core.PathMetadata, error] {
		return v.store.ListMetadata(ctx, core.MetadataQuery{Prefix: prefix, After: after})
	}
	return within(v.user, prefix, list, func(m *core.PathMetadata) string { return m.Path })
}

// within yields what list yields of the paths that begin with prefix and that a user reaches. It
// reads only the user's folders, one after the other. An error that wraps core.ErrDamaged comes
// last.
func within[T any](u *User, prefix string, list func(prefix string) iter.Seq2[T, error], path func(*T) string) iter.Seq2[T, error] {
	if !u.Limited() {
		return list(prefix)
	}
	return func(yield func(T, error) bool) {
		damaged := false
		prefix := strings.TrimLeft(prefix, "/")
		for _, f := range inOrder(u.Folders) {
			switch {
			case strings.HasPrefix(f, prefix):
			case strings.HasPrefix(prefix, f):
				f = prefix
			default:
				continue
			}
			for x, err := range list(f) {
				switch {
				case errors.Is(err, core.ErrDamaged):
					damaged = true
				case err == nil && !u.Reaches(path(&x)): // begins with the folder's name only
				case !yield(x, err):
					return
				}
			}
		}
		if damaged {
			var none T
			yield(none, errDamaged)
		}
	}
}

// errDamaged reports damage to a limited user without the names of series.
var errDamaged = fmt.Errorf("%w: some entries cannot be read", core.ErrDamaged)

// inOrder returns folders without those whose name begins with another one's: a list that begins
// with the other one's name yields both, and in order of paths.
func inOrder(folders []string) (out []string) {
	for _, f := range folders {
		if len(out) == 0 || !strings.HasPrefix(f, out[len(out)-1]) {
			out = append(out, f)
		}
	}
	return out
}

// Below returns ms, and for a limited user a matcher of the user's folders besides.
func (u *User) Below(ms []core.Matcher) []core.Matcher {
	if !u.Limited() {
		return ms
	}
	return append(slices.Clip(ms), core.Below(u.Folders...))
}

// Hide returns err as the user may see it: damage is reported to a limited user without the names
// of series.
func (u *User) Hide(err error) error {
	if u.Limited() && errors.Is(err, core.ErrDamaged) {
		return errDamaged
	}
	return err
}

// Labels returns names, values or combinations of labels.
func (v View) Labels(ctx context.Context, q core.LabelQuery) (core.Labels, error) {
	q.Matchers = v.user.Below(q.Matchers)
	out, err := v.store.Labels(ctx, q)
	return out, v.user.Hide(err)
}

// Create makes a series.
func (v View) Create(ctx context.Context, spec core.Spec) (core.Ref, error) {
	return core.Create(ctx, v, spec)
}

// CreateBatch makes series. Those that are not the user's are not made; Err says so.
func (v View) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	if !v.user.Limited() {
		return v.store.CreateBatch(ctx, specs)
	}
	out := make([]core.Created, len(specs))
	own := make([]core.Spec, 0, len(specs))
	var index []int // of own in specs
	for i := range specs {
		if out[i].Err = v.user.Check(specs[i].Path); out[i].Err == nil {
			own, index = append(own, specs[i]), append(index, i)
		}
	}
	if len(own) == 0 {
		return out, nil
	}
	made, err := v.store.CreateBatch(ctx, own)
	for i := range made {
		out[index[i]] = made[i]
	}
	return out, err
}

// Drop removes a series with all its rows.
func (v View) Drop(ctx context.Context, path string) error {
	if err := v.user.Check(path); err != nil {
		return err
	}
	return core.Drop(ctx, v.store, path)
}

// Rename gives a series another path.
func (v View) Rename(ctx context.Context, path, to string) error {
	if err := errors.Join(v.user.Check(path), v.user.Check(to)); err != nil {
		return err
	}
	return v.store.Rename(ctx, path, to)
}

// Last returns the time of the last update of a series.
func (v View) Last(ref core.Ref) (rra.Time, error) {
	if err := v.may(Read, ref); err != nil {
		return 0, err
	}
	return core.Last(context.Background(), v.store, ref)
}

// Alter replaces a series by the result of change.
func (v View) Alter(ctx context.Context, path string, change func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	if err := cmp.Or(v.need(Admin), v.user.Check(path)); err != nil {
		return 0, err
	}
	return v.store.Alter(ctx, path, change)
}

// Export returns a whole series.
func (v View) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	if err := v.may(Read, ref); err != nil {
		return core.Copy{}, err
	}
	return v.store.Export(ctx, ref)
}

// SetMetadata replaces the metadata of paths. out[i] is nil or says why ms[i] was not stored.
func (v View) SetMetadata(ctx context.Context, ms []core.PathMetadata) (out []error, err error) {
	out = make([]error, len(ms))
	own := make([]core.PathMetadata, 0, len(ms))
	var index []int // of own in ms
	for i := range ms {
		if out[i] = v.user.Check(ms[i].Path); out[i] == nil {
			own, index = append(own, ms[i]), append(index, i)
		}
	}
	if len(own) == 0 {
		return out, nil
	}
	errs, err := v.store.SetMetadata(ctx, own)
	for i, err := range errs {
		out[index[i]] = err
	}
	return out, err
}

type askKey struct{}

// WithAsk returns a context whose user can be asked for anew; see [Again].
func WithAsk(ctx context.Context, ask func() (*User, error)) context.Context {
	return context.WithValue(ctx, askKey{}, ask)
}

// Again asks anew who the user of a context is. The error says that it is nobody any more, or wraps
// [ErrDenied] because the user's name or rights have changed. It is nil if nobody can be asked.
func Again(ctx context.Context) error {
	ask, ok := ctx.Value(askKey{}).(func() (*User, error))
	if !ok {
		return nil
	}
	was := From(ctx)
	is, err := ask()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	if !reflect.DeepEqual(was, is) {
		return fmt.Errorf("%w: what %s may do has changed: begin again", ErrDenied, was)
	}
	return nil
}
