package shared

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/query/dashboards"
)

const (
	keyList     = "dashboards.list"
	maxList     = 1 << 20 // bytes; a thousand pages with the longest names take 160 kB
	maxID       = 64      // bytes
	listVersion = 2
)

// A list names all pages. It is JSON in the bucket.
type list struct {
	Version int              `json:"version"`
	ID      string           `json:"id,omitempty"` // drawn when the list began
	Pages   map[string]entry `json:"pages"`

	revision uint64 // of the list in the bucket; 0: the bucket has no list, and this one is new
}

// An entry says which text a page has.
type entry struct {
	Revision uint64 `json:"revision"` // of the text; for removing it
	Digest   string `json:"digest"`   // of the text
}

// digestOf returns the first half of the SHA-256 of a text, in hex.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// errList says that the list cannot be read. Nobody writes over one of a newer version.
var errList = errors.New("the list of the cluster's dashboards cannot be read: use the newest version of rondo among the nodes")

// read reads the list. If the bucket has no list it returns a new one.
func (b Bucket) read(ctx context.Context) (*list, error) {
	v, err := b.Store.Get(ctx, keyList)
	if err != nil {
		return nil, unavailable(err)
	}
	l := &list{Version: listVersion, ID: rand.Text()}
	if v.Revision > 0 {
		if l, err = parseList(v.Value); err != nil {
			return nil, err
		}
	}
	if l.revision = v.Revision; l.Pages == nil {
		l.Pages = make(map[string]entry)
	}
	return l, nil
}

// parseList reads a list. Entries that cannot be right are left out.
func parseList(value []byte) (*list, error) {
	l := new(list)
	switch {
	case len(value) > maxList:
		return nil, fmt.Errorf("%w: it has %d bytes", errList, len(value))
	case json.Unmarshal(value, l) != nil:
		return nil, errList
	case l.Version != listVersion:
		return nil, fmt.Errorf("%w: its version is %d", errList, l.Version)
	case len(l.ID) > maxID:
		return nil, fmt.Errorf("%w: its id has %d bytes", errList, len(l.ID))
	}
	for i, name := range l.names() {
		if i >= dashboards.MaxPages || dashboards.CheckName(name) != nil {
			delete(l.Pages, name)
		}
	}
	return l, nil
}

// names returns the names of the pages in order.
func (l *list) names() []string { return slices.Sorted(maps.Keys(l.Pages)) }

// write writes a list in place of the one that was read. The error wraps coord.ErrConflict if
// somebody else has written a list since.
func (b Bucket) write(ctx context.Context, l *list) error {
	value, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = b.Store.CompareAndSet(ctx, keyList, value, l.revision)
	switch {
	case errors.Is(err, coord.ErrTooLong):
		return &dashboards.ParseError{Err: fmt.Errorf("a list of %d dashboards: %w", len(l.Pages), err)}
	case err != nil:
		return unavailable(err)
	}
	return nil
}
