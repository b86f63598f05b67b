package core_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A state that was made anew began at the newest sample of the log, also at one that the series had
// refused: with a time years ahead nothing was taken any more.
func TestRepairedStateBeganAtRefusedSample(t *testing.T) {
	const far = programStart + 400_000_000
	num, text := []rra.Value{rra.Int(1), rra.Int(1)}, []rra.Value{rra.Int(1), rra.Text(0)}
	for name, refused := range map[string]func(ref core.Ref, b *core.Batch){
		"too few values":     func(ref core.Ref, b *core.Batch) { b.Add(ref, rra.Seconds(far), rra.Int(1)) },
		"no number":          func(ref core.Ref, b *core.Batch) { b.AddText(ref, rra.Seconds(far), text, []string{"1e3x"}) },
		"no positive number": func(ref core.Ref, b *core.Batch) { b.AddText(ref, rra.Seconds(far), text, []string{"-3"}) },
		"behind the one that ended a command": func(ref core.Ref, b *core.Batch) {
			b.AddText(ref, rra.Seconds(programStart+1000), text, []string{"x"})
			b.Add(ref, rra.Seconds(far), num...)
			b.Follow()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			s := mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
			ref := mustCreate(t, s, "x", definition(t, "DS:a:GAUGE:1000000000:U:U", "DS:b:COUNTER:1000000000:U:U", "RRA:AVERAGE:0.5:1:100"))
			mustClose(t, s.Checkpoint(ctx))
			var backup bytes.Buffer // what is restored has no log of the time before
			mustClose(t, s.Backup(ctx, &backup))
			mustClose(t, s.Close())
			dir := filepath.Join(t.TempDir(), "restored")
			mustClose(t, core.Restore(&backup, dir))
			s = mustOpen(t, dir, core.Options{NoBackground: true})
			var b core.Batch
			b.Add(ref, rra.Seconds(programStart+10), num...)
			b.AddText(ref, rra.Seconds(programStart+20), text, []string{"2"})
			mustAppend(t, s, &b)
			b.Reset()
			refused(ref, &b)
			if err := s.Append(ctx, &b); err == nil {
				t.Fatal("the sample is not refused")
			}
			want, err := s.Last(ref)
			if err != nil || want != rra.Seconds(programStart+20) {
				t.Fatal(want, err)
			}
			mustClose(t, s.Abandon())
			damageDB(t, dir, func(tx *bolt.Tx) error {
				k, _ := tx.Bucket([]byte("state")).Cursor().First()
				return tx.Bucket([]byte("state")).Delete(bytes.Clone(k))
			})
			if got, err := core.Repair(ctx, dir, core.Options{}); err != nil || len(got.Left) > 0 || len(got.Lost) != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			s = mustOpen(t, dir, core.Options{NoBackground: true})
			defer func() { mustClose(t, s.Close()) }()
			if last, err := s.Last(ref); err != nil || last != want {
				t.Errorf("the series begins anew at %v, %v, want %v", last, err, want)
			}
		})
	}
}
