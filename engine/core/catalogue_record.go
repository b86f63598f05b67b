package core

import (
	"encoding/binary"

	"github.com/rondo-db/rondo/rra"
)

// The records of the catalogue in the log.

func appendCreate(dst []byte, plan []planned) []byte {
	dst = append(dst, recordCreate)
	dst = binary.AppendUvarint(dst, uint64(len(plan)))
	last := ""
	for i := range plan {
		p := &plan[i]
		var flags byte
		if p.Overwrite {
			flags |= 1
		}
		if p.def != last {
			flags |= 2 // a definition follows; else that of the series before
		}
		named := p.SmoothHash != 0 && p.m.Seasonal()
		if named {
			flags |= 4
		}
		dst = append(dst, flags)
		dst = appendString(dst, p.Path)
		dst = appendLabels(dst, p.Labels)
		dst = appendTime(dst, p.Start, 0)
		if p.def != last {
			dst = appendString(dst, p.def)
			last = p.def
		}
		if named {
			dst = binary.LittleEndian.AppendUint64(dst, p.SmoothHash)
		}
	}
	return dst
}

// replayCreate decodes a create record.
func (s *Store) replayCreate(r *reader) ([]planned, error) {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
	}
	var plan []planned
	var last planned
	for i := uint64(0); i < n && r.err == nil; i++ {
		flags := r.byte()
		p := planned{at: int(i)}
		p.Overwrite = flags&1 != 0
		p.Path = r.string()
		p.Labels = r.labels()
		p.Start = r.time(0)
		p.m, p.def, p.Definition = last.m, last.def, last.Definition
		if flags&2 != 0 {
			p.def = r.string()
			d, err := decodeDefinition([]byte(p.def))
			if err != nil {
				return nil, err
			}
			if p.m, err = s.compile(p.def, d); err != nil {
				return nil, err
			}
			p.Definition = d
		}
		if flags&4 != 0 {
			if b := r.bytes(8); b != nil {
				p.SmoothHash = binary.LittleEndian.Uint64(b)
			}
		}
		if p.m == nil {
			r.fail()
			break
		}
		p.key = nameKey(p.Path)
		last = p
		plan = append(plan, p)
	}
	return plan, r.err
}

// compileCopy is compile of a definition's code alone: the machine shares nothing with the caller.
func (s *Store) compileCopy(key string) (*rra.Machine, error) {
	d, err := decodeDefinition([]byte(key))
	if err != nil {
		return nil, err
	}
	return s.compile(key, d)
}

// compile returns the machine of a definition, an interned one if there is one.
func (s *Store) compile(key string, d *rra.Definition) (*rra.Machine, error) {
	s.catalogue.mu.RLock()
	def := s.catalogue.byDef[key]
	s.catalogue.mu.RUnlock()
	if def != nil {
		return def.m, nil
	}
	return rra.Compile(d)
}

func appendLabels(dst []byte, labels []Label) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(labels)))
	for _, l := range labels {
		dst = appendString(appendString(dst, l.Name), l.Value)
	}
	return dst
}

func (r *reader) labels() []Label {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	var out []Label
	for i := uint64(0); i < n && r.err == nil; i++ {
		out = append(out, Label{r.string(), r.string()})
	}
	return out
}
