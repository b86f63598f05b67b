package smon

import (
	"bytes"

	"github.com/rondo-db/rondo/receivers"
)

func (d *Decoder) beginString(n uint64) {
	d.want, d.fills, d.step = int(n), 0, stepString
}

// take takes bytes of the string being read, up to a run that calls for a stuffing byte, and
// returns how many.
func (d *Decoder) take(b []byte) (int, *receivers.Error) {
	b = b[:min(len(b), d.want)]
	i := 0
	for i < len(b) && d.fills < stuffRun {
		if b[i] == fill {
			d.fills++
			i++
			continue
		}
		d.fills = 0
		n := bytes.IndexByte(b[i:], fill)
		if n < 0 {
			n = len(b) - i
		}
		i += n
	}
	d.want -= i
	if d.fills == stuffRun {
		d.step = stepStuff
	}
	return i, d.keep(b[:i])
}

// keep puts bytes of a string behind those there are.
func (d *Decoder) keep(b []byte) *receivers.Error {
	if t := d.token; t != nil {
		if need := len(t.text) + len(b); need > cap(t.text) {
			// Grown as bytes come, not as they are announced.
			n := min(max(2*cap(t.text), need, 32), MaxText)
			if err := d.charge(n - cap(t.text)); err != nil {
				return err
			}
			t.text = append(make([]byte, 0, n), t.text...)
		}
		t.text = append(t.text, b...)
		return nil
	}
	d.text = append(d.text, b...)
	if t := Type(d.text[0]); t != Unsigned && t != String {
		return fault(receivers.Unsupported, "type %q", string(t))
	}
	return nil
}

// charge counts n bytes more of state.
func (d *Decoder) charge(n int) *receivers.Error {
	most := d.State
	if most <= 0 {
		most = DefaultState
	}
	if d.size += n; d.size > most {
		return fault(receivers.Limit, "names and texts of more than %d bytes", most)
	}
	return nil
}
