package core

// A step of a round that is of the catalogue covers the first stepNames living paths behind one:
// that must not depend on how much of the catalogue is in the database.

// names takes the digest of some paths, with what the catalogue says of them.
func (run *digestRun) names() error {
	cat := &run.d.s.catalogue
	var passed passedOver
	names, more, err := cat.someNames(nil, cat.nameTable.view(cat), "", run.step.after, stepNames, &passed)
	if err == nil {
		err = passed.err()
	}
	if err != nil {
		return err
	}
	for _, x := range names {
		rec, err := cat.record(x.ref)
		if err != nil {
			return err
		}
		run.sum.text(rec.path)
		run.sum.add(uint64(x.ref))
		run.sum.add(uint64(rec.def))
		run.sum.add(uint64(len(rec.labels)))
		for _, l := range rec.labels {
			run.sum.text(l.Name)
			run.sum.text(l.Value)
		}
	}
	if more {
		run.after, run.more = names[len(names)-1].key, true
	}
	return nil
}

// metadata takes the digest of the metadata of some paths.
func (run *digestRun) metadata() error {
	s := run.d.s
	var passed passedOver
	some, more, err := s.someMetadata(s.metadata.view("", run.step.after), "", run.step.after, stepNames, &passed)
	if err == nil {
		err = passed.err()
	}
	if err != nil {
		return err
	}
	for i := range some {
		run.sum.text(some[i].Path)
		run.sum.bytes(appendMetadata(nil, &some[i].Metadata, false))
	}
	if more {
		run.after, run.more = some[len(some)-1].Path, true
	}
	return nil
}
