package core_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A state record that is missing is damage of its series. It was taken for a group without series:
// the store could not be opened if the log had samples of one, and else the series were not found.
func TestMissingStateIsDamage(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	ref := mustCreate(t, s, "x", definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:100"))
	mustClose(t, s.Checkpoint(context.Background()))
	var b core.Batch
	b.Add(ref, rra.Seconds(programStart+10), rra.Int(1))
	mustAppend(t, s, &b)
	mustClose(t, s.Abandon())
	damageDB(t, dir, func(tx *bolt.Tx) error {
		k, _ := tx.Bucket([]byte("state")).Cursor().First()
		return tx.Bucket([]byte("state")).Delete(bytes.Clone(k))
	})
	for _, o := range []core.Options{{}, {NoBackground: true}, {ReadOnly: true}} {
		s := mustOpen(t, dir, o)
		if _, err := s.Last(ref); !errors.Is(err, core.ErrDamaged) || !strings.Contains(err.Error(), "missing") {
			t.Errorf("%+v: %v", o, err)
		}
		mustClose(t, s.Close())
	}
}
