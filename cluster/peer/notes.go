package peer

import (
	"context"
	"iter"

	"github.com/rondo-db/rondo/engine/core"
)

func codeMetadata(k *coder, x *core.PathMetadata) {
	k.text(&x.Path)
	number(k, &x.Time)
	k.text(&x.Text)
	labels(k, &x.Attributes)
	number(k, &x.Expire)
	k.flag(&x.Expired)
	k.flag(&x.Expires)
}

var setMetadata = changes("metadata.set", codeMetadata, core.Engine.SetMetadata)

// SetMetadata is core.Engine's.
func (c *Client) SetMetadata(ctx context.Context, ms []core.PathMetadata) ([]error, error) {
	return each(ctx, c, setMetadata, ms)
}

func codeMetadataQuery(k *coder, x *core.MetadataQuery) {
	k.text(&x.Path)
	k.text(&x.Prefix)
	k.text(&x.After)
}

var listMetadata = define("metadata", codeMetadataQuery, codeMetadata, func(x *call, q *core.MetadataQuery, give func(*core.PathMetadata) bool) error {
	for m, err := range x.engine.ListMetadata(x.ctx, *q) {
		if err != nil || !give(&m) {
			return err
		}
	}
	return nil
})

// ListMetadata is core.Engine's.
func (c *Client) ListMetadata(ctx context.Context, q core.MetadataQuery) iter.Seq2[core.PathMetadata, error] {
	return func(yield func(core.PathMetadata, error) bool) {
		if q.Path != "" {
			var cancel context.CancelFunc
			ctx, cancel = c.bounded(ctx)
			defer cancel()
		}
		going := true
		err := listMetadata.ask(ctx, c, q, func(x *core.PathMetadata) (bool, error) {
			going = yield(*x, nil)
			return going, nil
		})
		if err != nil && going {
			yield(core.PathMetadata{}, err)
		}
	}
}

// A noted is a note and its key.
type noted struct {
	key  string
	note core.Note
}

func codeNoted(k *coder, x *noted) {
	k.text(&x.key)
	number(k, &x.note.Time)
	k.text(&x.note.Severity)
	k.text(&x.note.Text)
	labels(k, &x.note.Labels)
}

var addNote = define("note", codeNoted, none, func(x *call, q *noted, _ func(*struct{}) bool) error {
	return x.engine.AddNote(x.ctx, q.key, q.note)
})

// AddNote is core.Engine's.
func (c *Client) AddNote(ctx context.Context, key string, n core.Note) error {
	_, err := addNote.one(ctx, c, noted{key, n})
	return err
}

var notes = define("notes", (*coder).text, codeNoted, func(x *call, key *string, give func(*noted) bool) error {
	all, err := x.engine.Notes(x.ctx, *key)
	for key, of := range all {
		for _, n := range of {
			give(&noted{key, n})
		}
	}
	return err
})

// Notes is core.Engine's.
func (c *Client) Notes(ctx context.Context, key string) (map[string][]core.Note, error) {
	all := make(map[string][]core.Note)
	err := notes.ask(ctx, c, key, func(x *noted) (bool, error) {
		all[x.key] = append(all[x.key], x.note)
		return true, nil
	})
	return all, err
}
