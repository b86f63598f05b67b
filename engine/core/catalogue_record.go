package core

import (
	"encoding/binary"

	"github.com/rondo-db/rondo/internal/record"
)

// The records of the catalogue in the log.

func appendCreate(plan []planned) []byte {
	size := 16
	for i := range plan {
		size += createBytes + len(plan[i].Path)
		for _, l := range plan[i].Labels {
			size += 2 + len(l.Name) + len(l.Value)
		}
	}
	dst := make([]byte, 0, size)
	dst = append(dst, record.KindCreate)
	dst = binary.AppendUvarint(dst, uint64(len(plan)))
	last := ""
	for i := range plan {
		p := &plan[i]
		var flags byte
		if p.Overwrite {
			flags |= 1
		}
		if p.def != last {
			flags |= 2 // a definition follows; else the series has the definition of the one before
		}
		named := p.SmoothHash != 0 && p.m.Seasonal()
		if named {
			flags |= 4
		}
		dst = append(dst, flags)
		dst = record.AppendText(dst, p.Path)
		dst = appendLabels(dst, p.Labels)
		dst = record.AppendTime(dst, p.Start, 0)
		if p.def != last {
			dst = record.AppendText(dst, p.def)
			last = p.def
		}
		if named {
			dst = binary.LittleEndian.AppendUint64(dst, p.SmoothHash)
		}
	}
	return dst
}

// createBytes is more than most series take in a create record, beside path and labels.
const createBytes = 16

// replayCreate decodes a create record.
func (cat *catalogue) replayCreate(r *record.Reader) ([]planned, error) {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
	}
	var plan []planned
	var last planned
	for i := uint64(0); i < n && r.Err == nil; i++ {
		flags := r.Byte()
		if flags > 7 {
			return nil, unknownFlags(flags)
		}
		p := planned{at: int(i)}
		p.Overwrite = flags&1 != 0
		p.Path = r.Text()
		p.Labels = readLabels(r)
		p.Start = r.Time(0)
		p.m, p.def = last.m, last.def
		if flags&2 != 0 {
			p.def = r.Text()
			var err error
			if p.m, err = cat.compile(p.def); err != nil {
				return nil, err
			}
		}
		if flags&4 != 0 {
			if b := r.Bytes(8); b != nil {
				p.SmoothHash = binary.LittleEndian.Uint64(b)
			}
		}
		if p.m == nil {
			r.Fail()
			break
		}
		p.key = nameKey(p.Path)
		last = p
		plan = append(plan, p)
	}
	return plan, r.Err
}

func appendLabels(dst []byte, labels []Label) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(labels)))
	for _, l := range labels {
		dst = record.AppendText(record.AppendText(dst, l.Name), l.Value)
	}
	return dst
}

func readLabels(r *record.Reader) []Label {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
		return nil
	}
	var out []Label
	for i := uint64(0); i < n && r.Err == nil; i++ {
		out = append(out, Label{r.Text(), r.Text()})
	}
	return out
}
