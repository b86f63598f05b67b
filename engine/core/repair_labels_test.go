package core_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
)

// A series whose record was lost, and entries of the label index with it, lost labels without a
// word. The database was not made anew from the log either, although the log had everything.
func TestRepairLostLabelsWithoutWord(t *testing.T) {
	ctx := context.Background()
	whole := &shortLog{t: t, dir: t.TempDir()}
	whole.s = mustOpen(t, whole.dir, core.Options{NoBackground: true})
	whole.create("a", "b", "c", "d", "e")
	whole.feed(20)
	mustClose(t, whole.s.Checkpoint(ctx))
	short := newShortLog(t)
	for _, x := range []*shortLog{whole, short} {
		want := x.tell(x.s)
		mustClose(t, x.s.Abandon())
		for _, is := range []struct{ entries, told string }{
			{"none", ""}, // the index has the labels of the record
			{"n\x00c\x00", `series "c": the value of its label n is lost`},
			{"", `series "c": its record is lost, and so are entries of the label index`},
		} {
			hurt := copyStore(t, x.dir)
			damageDB(t, hurt, func(tx *bolt.Tx) error {
				mustClose(t, tx.Bucket([]byte("series")).Delete(tx.Bucket([]byte("names")).Get([]byte("c"))[:8]))
				labels := tx.Bucket([]byte("labels"))
				for _, k := range keysOf(labels) {
					if strings.HasPrefix(string(k), is.entries) {
						mustClose(t, labels.Delete(k))
					}
				}
				return nil
			})
			got, err := core.Repair(ctx, hurt, core.Options{})
			if err != nil || len(got.Left) > 0 {
				t.Errorf("%q: %+v, %v", is.entries, got, err)
			}
			s := mustOpen(t, hurt, core.Options{NoBackground: true})
			have := x.tell(s)
			mustClose(t, s.Close())
			report := strings.Join(got.Lost, "\n")
			if x == whole || is.told == "" {
				if !maps.Equal(have, want) || report != "" {
					t.Errorf("%q: %.300v, want %.300v: %+v", is.entries, have, want, got)
				}
			} else if !strings.Contains(report, is.told) {
				t.Errorf("%q: the report does not say %q: %s", is.entries, is.told, report)
			}
			mustCheck(t, hurt)
		}
	}
}
