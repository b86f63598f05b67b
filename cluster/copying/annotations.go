package copying

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
)

// metadataChunk is how many paths' metadata are compared and set at once.
const metadataChunk = 4000

// metadata copies the metadata of all paths, reads it back, and compares.
func (r *run) metadata(ctx context.Context) error {
	var part []core.PathMetadata
	after := ""
	for m, err := range r.From.ListMetadata(ctx, core.MetadataQuery{}) {
		if err != nil {
			return err
		}
		if part = append(part, m); len(part) == metadataChunk {
			if err := r.metadataPart(ctx, after, part); err != nil {
				return err
			}
			after, part = m.Path, nil
		}
	}
	if len(part) == 0 {
		return nil
	}
	return r.metadataPart(ctx, after, part)
}

// metadataPart copies the metadata of some paths, which are in order and behind after.
func (r *run) metadataPart(ctx context.Context, after string, part []core.PathMetadata) error {
	there, err := r.metadataThere(ctx, after, part[len(part)-1].Path)
	if err != nil {
		return err
	}
	var set []core.PathMetadata
	for _, m := range part {
		switch was := there[m.Path]; {
		case sameMetadata(was, m.Metadata):
			r.hasMetadata(m)
		case r.own(m.Path) && was.Time > 0:
		case was.Time > m.Time:
			r.problem(m.Path, errors.New("it has newer metadata here than where it is copied from, so that stays as it is"))
		default:
			set = append(set, m)
		}
	}
	if len(set) == 0 {
		return nil
	}
	var out []error
	err = again(ctx, r.Patience, func() (err error) {
		out, err = r.To.SetMetadata(ctx, set)
		for i := 0; i < len(out) && err == nil; i++ {
			if passing(out[i]) {
				err = out[i]
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if there, err = r.metadataThere(ctx, after, part[len(part)-1].Path); err != nil {
		return err
	}
	for i, m := range set {
		switch {
		case out[i] != nil:
			r.problem(m.Path, out[i])
		case !sameMetadata(there[m.Path], m.Metadata) && !r.own(m.Path):
			r.problem(m.Path, fmt.Errorf("metadata: %w", errDiffers))
		default:
			r.hasMetadata(m)
		}
	}
	return nil
}

// metadataThere returns the metadata that To has behind a path, up to another one.
func (r *run) metadataThere(ctx context.Context, after, last string) (there map[string]core.Metadata, err error) {
	err = again(ctx, r.Patience, func() error {
		there = make(map[string]core.Metadata)
		for m, err := range r.To.ListMetadata(ctx, core.MetadataQuery{After: after}) {
			if err != nil {
				return err
			}
			if m.Path > last {
				return nil
			}
			there[m.Path] = m.Metadata
		}
		return nil
	})
	return there, err
}

// hasMetadata counts metadata that To has.
func (r *run) hasMetadata(m core.PathMetadata) {
	var d Digest
	if !r.own(m.Path) {
		b, _ := json.Marshal(m) // it does not fail: there are strings and integers
		d.take("metadata", b)
	}
	r.tell(func(out *Result) { out.Metadata++; out.Digest.Add(d) })
}

func sameMetadata(a, b core.Metadata) bool {
	same := slices.Equal(a.Attributes, b.Attributes)
	a.Attributes, b.Attributes = nil, nil
	return same && reflect.DeepEqual(a, b)
}

// notes copies all notes, reads them back, and compares. They are few: a store has 32 MiB at most.
func (r *run) notes(ctx context.Context) error {
	all, err := r.From.Notes(ctx, "")
	if err != nil {
		return err
	}
	for _, key := range inOrder(all) {
		want := all[key]
		now, err := r.addNotes(ctx, key, want)
		switch {
		case err != nil:
			return err
		case !sameNotes(now, want) && !r.own(key):
			r.problem(key, errors.New("it has other notes here than where it is copied from"))
			continue
		}
		var d Digest
		if !r.own(key) {
			b, _ := json.Marshal(want) // as in hasMetadata
			d.take("notes "+key, b)
		}
		r.tell(func(out *Result) { out.Notes += int64(len(want)); out.Digest.Add(d) })
	}
	return nil
}

// inOrder returns keys in the order in which their newest notes were made, so that To forgets the
// same ones first.
func inOrder(all map[string][]core.Note) []string {
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		x, y := all[a], all[b]
		return cmp.Or(cmp.Compare(x[len(x)-1].Time, y[len(y)-1].Time), cmp.Compare(a, b))
	})
}

// addNotes adds the notes of a key that To lacks, and returns those that it then has. An answer may
// be missing, so it looks before each note.
func (r *run) addNotes(ctx context.Context, key string, want []core.Note) (now []core.Note, err error) {
	err = again(ctx, r.Patience, func() error {
		for {
			all, err := r.To.Notes(ctx, key)
			if err != nil {
				return err
			}
			now = all[key]
			if len(now) >= len(want) || !sameNotes(now, want[:len(now)]) {
				return nil
			}
			if err := r.To.AddNote(ctx, key, want[len(now)]); err != nil {
				return err
			}
		}
	})
	return now, err
}

func sameNotes(a, b []core.Note) bool {
	return slices.EqualFunc(a, b, func(x, y core.Note) bool {
		same := slices.Equal(x.Labels, y.Labels)
		x.Labels, y.Labels = nil, nil
		return same && reflect.DeepEqual(x, y)
	})
}
