package smon

import (
	"bytes"

	"github.com/rondo-db/rondo/receivers"
)

func (d *Decoder) beginString(n uint64) {
	d.want, d.fills, d.step = int(n), 0, stepString
}

// stringBytes takes bytes of a string, up to the end of a run after which a stuffing byte must
// follow, and returns their number.
func (d *Decoder) stringBytes(b []byte) (int, *receivers.Error) {
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
	return i, d.appendString(b[:i])
}

// appendString appends bytes to the string that is being read.
func (d *Decoder) appendString(b []byte) *receivers.Error {
	if t := d.token; t != nil {
		if need := len(t.text) + len(b); need > cap(t.text) {
			// The memory grows with the bytes that come, not with those that are announced.
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

// charge counts n more bytes of state.
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
