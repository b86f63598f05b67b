package core_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// ExampleStore_Update gives readings as they stand in text, as rrdtool's update command does: the
// first that is refused ends it. With SkipPast late ones are passed over.
func ExampleStore_Update() {
	err := inTemporary(func(ctx context.Context, s *core.Store) error {
		d, err := rra.ParseDefinition(10, []string{"DS:octets:COUNTER:20:0:U", "RRA:LAST:0.5:1:360"})
		if err != nil {
			return err
		}
		start := rra.Seconds(1_700_000_000)
		ref, err := s.Create(ctx, core.Spec{Path: "web1/eth0", Definition: d, Start: start})
		if err != nil {
			return err
		}
		b := core.Batch{SkipPast: true}
		for i, text := range []string{"4294967280", "100", "U", "0300", "500"} {
			var texts []string
			v, err := rra.ParseValue(rra.Counter, text, &texts)
			if err != nil {
				return err
			}
			b.AddText(ref, start+rra.Seconds(10*int64(i+1)), []rra.Value{v}, texts)
		}
		b.Add(ref, start, rra.Int(1)) // late, and passed over
		n, err := s.Update(ctx, ref, &b)
		if err != nil {
			return err
		}
		rows, err := s.Fetch(ctx, ref, 0, 1_700_000_000, 1_700_000_050)
		if err != nil {
			return err
		}
		fmt.Println(n, "stored:", rows.Values)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 5 stored: [NaN 11.5 NaN NaN 20]
}
