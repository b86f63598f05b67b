package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/engine"
)

// Example is the README's: it shows the lines between the two marks, and a test of cmd/rondo keeps
// them the same.
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

	// README: embedding
	s, err := engine.Open(dir, engine.Options{})
	check(err)
	d, err := engine.Define(10*time.Second, "10s for 1d, 1h for 1y max", "DS:celsius:GAUGE:20:U:U")
	check(err)
	start := time.Unix(1_700_000_000, 0)
	ref, err := s.GetOrCreate(ctx, engine.Spec{Path: "cellar/temperature", Definition: d, Start: start})
	check(err)
	var b engine.Batch
	b.Add(ref, start.Add(10*time.Second), engine.Float(21.5))
	b.Add(ref, start.Add(20*time.Second), engine.Float(21.75))
	check(s.Append(ctx, &b)) // durable now, and seen by Fetch
	rows, err := s.Fetch(ctx, ref, engine.Query{From: start, To: start.Add(20 * time.Second)})
	check(err)
	fmt.Println(rows.DS, rows.Step, rows.Values)
	check(s.Close())
	// README: end

	// Output:
	// [celsius] 10s [21.5 21.75]
}

// inTemporary runs fn with a store in a folder of its own.
func inTemporary(fn func(ctx context.Context, s *engine.Store) error) {
	dir, err := os.MkdirTemp("", "rondo")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := engine.Open(dir, engine.Options{})
	if err == nil {
		err = errors.Join(fn(context.Background(), s), s.Close())
	}
	if err != nil {
		fmt.Println(err)
	}
}

// ExampleStore_Append stores samples of several series at once. What one series refuses keeps
// nothing back of the others.
func ExampleStore_Append() {
	inTemporary(func(ctx context.Context, s *engine.Store) error {
		d, err := engine.Define(10*time.Second, "10s for 1h", "DS:octets:COUNTER:20:0:U")
		if err != nil {
			return err
		}
		start := time.Unix(1_700_000_000, 0)
		var b engine.Batch // used again after Reset: a loop of Add, Append, Reset allocates nothing
		for i, path := range []string{"web1/eth0", "web1/eth1"} {
			ref, err := s.Create(ctx, engine.Spec{Path: path, Definition: d, Start: start})
			if err != nil {
				return err
			}
			b.Add(ref, start.Add(time.Duration(10*i)*time.Second), engine.Int(1000))
		}
		var rejected *engine.RejectedError
		if err := s.Append(ctx, &b); !errors.As(err, &rejected) {
			return err
		}
		fmt.Println(rejected.Accepted, "stored,", rejected.Late, "late: sample", rejected.First[0].Index)
		return nil
	})
	// Output:
	// 1 stored, 1 late: sample 0
}

// ExampleStore_Fetch reads rows of different lengths: the store picks the archive.
func ExampleStore_Fetch() {
	inTemporary(func(ctx context.Context, s *engine.Store) error {
		d, err := engine.Define(10*time.Second, "10s for 1h, 1m for 1d", "DS:v:GAUGE:20:U:U")
		if err != nil {
			return err
		}
		start := time.Unix(1_700_000_040, 0)
		ref, err := s.Create(ctx, engine.Spec{Path: "x", Definition: d, Start: start})
		if err != nil {
			return err
		}
		var b engine.Batch
		for i := range 12 {
			b.Add(ref, start.Add(time.Duration(10*(i+1))*time.Second), engine.Float(float64(i)))
		}
		if err := s.Append(ctx, &b); err != nil {
			return err
		}
		rows, err := s.Fetch(ctx, ref, engine.Query{From: start, To: start.Add(2 * time.Minute), Resolution: time.Minute})
		if err != nil {
			return err
		}
		for end, values := range rows.All() {
			fmt.Println(end.UTC().Format(time.TimeOnly), values)
		}
		return nil
	})
	// Output:
	// 22:15:00 [2.5]
	// 22:16:00 [8.5]
}

// ExampleGauge makes a series of the usual definition, and finds it again by its path.
func ExampleGauge() {
	inTemporary(func(ctx context.Context, s *engine.Store) error {
		d, err := engine.Gauge("celsius", "humidity")
		if err != nil {
			return err
		}
		if _, err := s.Create(ctx, engine.Spec{Path: "cellar/climate", Definition: d}); err != nil {
			return err
		}
		ref, err := s.Lookup("cellar/climate")
		if err != nil {
			return err
		}
		var b engine.Batch
		now := time.Now().Truncate(10 * time.Second)
		for i := range 3 {
			b.Add(ref, now.Add(time.Duration(10*(i-2))*time.Second), engine.Float(21.5), engine.Float(60))
		}
		if err := s.Append(ctx, &b); err != nil {
			return err
		}
		rows, err := s.Fetch(ctx, ref, engine.Query{From: now.Add(-10 * time.Second), To: now})
		if err != nil {
			return err
		}
		for _, values := range rows.All() {
			fmt.Println(rows.DS, values)
		}
		_, err = s.Lookup("attic")
		return err
	})
	// Output:
	// [celsius humidity] [21.5 60]
	// "attic": no such series
}

// ExampleStore_Select finds series by their labels, and by the beginning of their path.
func ExampleStore_Select() {
	inTemporary(func(ctx context.Context, s *engine.Store) error {
		d, err := engine.Define(10*time.Second, "10s for 1h", "DS:v:GAUGE:20:U:U")
		if err != nil {
			return err
		}
		for _, host := range []string{"web1", "web2", "mail"} {
			labels := engine.Labels(map[string]string{"host": host})
			if _, err := s.Create(ctx, engine.Spec{Path: host + "/load", Labels: labels, Definition: d}); err != nil {
				return err
			}
		}
		web, err := engine.NewMatcher(engine.MatchRegexp, "host", "web.*")
		if err != nil {
			return err
		}
		for series, err := range s.Select(ctx, web) {
			if err != nil {
				return err
			}
			fmt.Println(series.Path)
		}
		for series, err := range s.List(ctx, "ma") {
			if err != nil {
				return err
			}
			fmt.Println(series.Path, series.Labels)
		}
		return nil
	})
	// Output:
	// web1/load
	// web2/load
	// mail/load [{host mail}]
}

// ExampleStore_Backup copies a store that is in use, and opens the copy.
func ExampleStore_Backup() {
	inTemporary(func(ctx context.Context, s *engine.Store) error {
		d, err := engine.Define(10*time.Second, "10s for 1h", "DS:v:GAUGE:20:U:U")
		if err != nil {
			return err
		}
		if _, err := s.Create(ctx, engine.Spec{Path: "x", Definition: d}); err != nil {
			return err
		}
		var backup bytes.Buffer // a file, as a rule
		if err := s.Backup(ctx, &backup); err != nil {
			return err
		}
		dir, err := os.MkdirTemp("", "rondo")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		copied := filepath.Join(dir, "copy")
		if err := engine.Restore(copied, &backup); err != nil {
			return err
		}
		c, err := engine.Open(copied, engine.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		info, err := c.Info(ctx, "x")
		fmt.Println(info.Path, info.LastUpdate.Unix())
		return errors.Join(err, c.Close())
	})
	// Output:
	// x 0
}

// ExampleStore_BackupSince writes what has changed since a backup, and restores both.
func ExampleStore_BackupSince() {
	inTemporary(func(ctx context.Context, s *engine.Store) error {
		d, err := engine.Define(10*time.Second, "10s for 1h", "DS:v:GAUGE:20:U:U")
		if err != nil {
			return err
		}
		dir, err := os.MkdirTemp("", "rondo")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		var names []string
		var last *engine.BackupHead // of the backup before; nil: there is none
		for _, path := range []string{"x", "y"} {
			if _, err := s.Create(ctx, engine.Spec{Path: path, Definition: d}); err != nil {
				return err
			}
			var backup bytes.Buffer
			if err := s.BackupSince(ctx, &backup, last); err != nil {
				return err
			}
			names = append(names, filepath.Join(dir, path+".zst"))
			if err := os.WriteFile(names[len(names)-1], backup.Bytes(), 0o600); err != nil {
				return err
			}
			if last, err = engine.ReadBackupHead(&backup); err != nil {
				return err
			}
		}
		copied := filepath.Join(dir, "copy")
		if err := engine.RestoreFiles(copied, names...); err != nil {
			return err
		}
		c, err := engine.Open(copied, engine.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		info, err := c.Info(ctx, "y")
		fmt.Println(info.Path)
		return errors.Join(err, c.Close())
	})
	// Output: y
}
