package collectd

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// TestEncoderMakesCollectdsBytes: what a real collectd sent, decoded and encoded again, is what it
// sent.
func TestEncoderMakesCollectdsBytes(t *testing.T) {
	for i, packet := range receivertest.Hex(t, filepath.Join(captures, "collectd-5.12-plain.hex")) {
		e := again{t: t, Encoder: Encoder{Most: sockets.MaxDatagram}}
		if err := new(Decoder).Decode(packet, &e); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(e.Bytes(), packet) {
			t.Errorf("packet %d: encoded\n%x, sent\n%x", i, e.Bytes(), packet)
		}
	}
}

// again encodes what is decoded.
type again struct {
	t *testing.T
	Encoder
}

func (e *again) List(v *ValueList) {
	if !e.Add(v) {
		e.t.Error("no room for a list")
	}
}

func (e *again) Note(n *Notification) {
	if !e.Encoder.Note(n) {
		e.t.Error("no room for a notification")
	}
}

func (e *again) Drop(r receivers.Reason) { e.t.Errorf("dropped: %v", r) }
