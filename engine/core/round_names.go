package core

import (
	"maps"
	"slices"
)

// A step of a round that is of the catalogue covers the first stepNames living paths behind one:
// that must not depend on how much of the catalogue is in the database.

// names takes the digest of some paths, with what the catalogue says of them.
func (run *digestRun) names() error {
	cat := &run.d.s.catalogue
	newer := make(map[string]Ref)
	cat.mu.RLock() // first: a checkpoint moves the overlay into the database
	for key, ref := range cat.names {
		if key > run.step.after {
			newer[key] = ref
		}
	}
	cat.mu.RUnlock()
	refs := make(map[string]Ref, stepNames)
	keys, err := run.living(slices.Sorted(maps.Keys(newer)), func(after string) (keys []string, more bool, err error) {
		var passed passedOver
		stored, more, err := cat.storedNames(nil, "", after, stepNames, &passed)
		if err == nil {
			err = passed.err()
		}
		for _, x := range stored {
			refs[x.key] = x.ref
			keys = append(keys, x.key)
		}
		return keys, more, err
	}, func(key string) bool {
		if ref, ok := newer[key]; ok {
			refs[key] = ref
		}
		return refs[key] != 0
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		rec, err := cat.record(refs[key])
		if err != nil {
			return err
		}
		run.sum.text(rec.path)
		run.sum.add(uint64(refs[key]))
		run.sum.add(uint64(rec.def))
		run.sum.add(uint64(len(rec.labels)))
		for _, l := range rec.labels {
			run.sum.text(l.Name)
			run.sum.text(l.Value)
		}
	}
	return nil
}

// metadata takes the digest of the metadata of some paths.
func (run *digestRun) metadata() error {
	s := run.d.s
	newer := make(map[string]*Metadata)
	s.metadata.mu.RLock() // first: a checkpoint moves the overlay into the database
	for key, m := range s.metadata.changed {
		if key > run.step.after {
			newer[key] = m
		}
	}
	s.metadata.mu.RUnlock()
	all := make(map[string]*Metadata, stepNames)
	keys, err := run.living(slices.Sorted(maps.Keys(newer)), func(after string) (keys []string, more bool, err error) {
		var passed passedOver
		stored, more, err := s.storedMetadata("", after, stepNames, &passed)
		if err == nil {
			err = passed.err()
		}
		for i := range stored {
			all[stored[i].Path] = &stored[i].Metadata
			keys = append(keys, stored[i].Path)
		}
		return keys, more, err
	}, func(key string) bool {
		if m, ok := newer[key]; ok {
			all[key] = m
		}
		return all[key] != nil && !all[key].none()
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		run.sum.text(key)
		run.sum.bytes(appendMetadata(nil, all[key], false))
	}
	return nil
}

// living returns the keys that a step covers, in order, and notes where the next step begins.
// newer are the keys that the overlay changes, in order; stored returns the next keys of the
// database, and alive says whether a key counts.
func (run *digestRun) living(newer []string, stored func(after string) ([]string, bool, error), alive func(key string) bool) ([]string, error) {
	var out []string
	for after, more := run.step.after, true; more; {
		keys, rest, err := stored(after)
		if err != nil {
			return nil, err
		}
		n := len(newer)
		if more = rest; more {
			after = keys[len(keys)-1]
			var found bool
			if n, found = slices.BinarySearch(newer, after); found {
				n++
			}
		}
		keys = append(keys, newer[:n]...)
		newer = newer[n:]
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			if !alive(key) {
				continue
			}
			if out = append(out, key); len(out) == stepNames {
				run.after, run.more = key, true
				return out, nil
			}
		}
	}
	return out, nil
}
