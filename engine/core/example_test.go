package core_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// Example makes a series, appends to it and reads it.
func Example() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "rondo")
	check(err)
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()

	d, err := rra.ParseDefinition(10, []string{"DS:celsius:GAUGE:20:U:U", "RRA:AVERAGE:0.5:10s:1d", "RRA:MAX:0.5:1h:1y"})
	check(err)
	s, err := core.Open(dir, core.Options{})
	check(err)
	ref, err := s.Create(ctx, core.Spec{Path: "cellar/temperature", Definition: d, Start: rra.Seconds(1_700_000_000)})
	check(err)
	var b core.Batch
	b.Add(ref, rra.Seconds(1_700_000_010), rra.Float(21.5))
	b.Add(ref, rra.Seconds(1_700_000_020), rra.Float(21.75))
	check(s.Append(ctx, &b)) // durable now, and seen by Fetch
	rows, err := s.Fetch(ctx, ref, 0, 1_700_000_000, 1_700_000_020)
	check(err)
	fmt.Println(rows.DS, rows.Step, rows.Values)
	check(s.Close())

	// Output:
	// [celsius] 10 [21.5 21.75]
}

// ExampleStore_Append takes samples of many series in one call. What one series refuses keeps
// nothing back of the others.
func ExampleStore_Append() {
	err := inTemporary(func(ctx context.Context, s *core.Store) error {
		d, err := rra.ParseDefinition(10, []string{"DS:octets:COUNTER:20:0:U", "RRA:AVERAGE:0.5:1:360"})
		if err != nil {
			return err
		}
		start := rra.Seconds(1_700_000_000)
		made, err := s.CreateBatch(ctx, []core.Spec{
			{Path: "web1/eth0", Definition: d, Start: start},
			{Path: "web1/eth1", Definition: d, Start: start},
		})
		if err != nil {
			return err
		}
		var b core.Batch // used again after Reset: a loop of Add, Append, Reset allocates nothing
		b.Add(made[0].Ref, start+rra.Seconds(10), rra.Int(1000))
		b.Add(made[1].Ref, start, rra.Int(7)) // not after the last update
		var rejected *core.RejectedError
		if err := s.Append(ctx, &b); !errors.As(err, &rejected) {
			return err
		}
		fmt.Println(rejected.Accepted, "stored,", rejected.Late, "late: sample", rejected.First[0].Index)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 stored, 1 late: sample 1
}

// ExampleStore_Select finds series by their labels, and by the beginning of their path.
func ExampleStore_Select() {
	err := inTemporary(func(ctx context.Context, s *core.Store) error {
		d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:LAST:0.5:1:360"})
		if err != nil {
			return err
		}
		for _, host := range []string{"web1", "web2", "mail"} {
			labels := []core.Label{{Name: "host", Value: host}}
			if _, err := s.Create(ctx, core.Spec{Path: host + "/load", Labels: labels, Definition: d}); err != nil {
				return err
			}
		}
		for series, err := range s.Select(ctx, core.Query{Matchers: []core.Matcher{{Name: "host", Op: core.MatchEqual, Value: "web2"}}, Order: core.ByRef}) {
			if err != nil {
				return err
			}
			fmt.Println(series.Path)
		}
		for series, err := range s.Select(ctx, core.Query{Prefix: "web", Order: core.ByPath}) {
			if err != nil {
				return err
			}
			fmt.Println(series.Path, series.Labels)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// web2/load
	// web1/load [{host web1}]
	// web2/load [{host web2}]
}

// ExampleStore_Backup copies a store that is in use.
func ExampleStore_Backup() {
	err := inTemporary(func(ctx context.Context, s *core.Store) error {
		d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:LAST:0.5:1:360"})
		if err != nil {
			return err
		}
		if _, err := s.Create(ctx, core.Spec{Path: "a", Definition: d}); err != nil {
			return err
		}
		f, err := os.CreateTemp("", "rondo")
		if err != nil {
			return err
		}
		defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
		if err := s.Backup(ctx, f); err != nil {
			return err
		}
		if _, err := f.Seek(0, 0); err != nil {
			return err
		}
		dir := f.Name() + ".db"
		defer func() { _ = os.RemoveAll(dir) }()
		if err := core.Restore(f, dir); err != nil {
			return err
		}
		restored, err := core.Open(dir, core.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		fmt.Println(restored.Stats().Series, "series")
		return restored.Close()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 series
}

// ExampleStore_Check looks for damage; the store stays in use.
func ExampleStore_Check() {
	err := inTemporary(func(ctx context.Context, s *core.Store) error {
		problems, err := s.Check(ctx)
		fmt.Println(len(problems), "problems")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0 problems
}

// inTemporary calls f with a new store, which goes afterwards.
func inTemporary(f func(context.Context, *core.Store) error) error {
	dir, err := os.MkdirTemp("", "rondo")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := core.Open(dir, core.Options{})
	if err != nil {
		return err
	}
	return errors.Join(f(context.Background(), s), s.Close())
}
