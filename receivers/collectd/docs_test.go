package collectd

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers/receivertest"
)

// TestPage decodes the examples of the page, and encodes them again.
func TestPage(t *testing.T) {
	blocks := receivertest.Examples(t, "../../docs/wire/collectd.md")
	list := example("h1")
	var e Encoder
	e.Note(&Notification{
		Names: Names{Host: []byte("h8"), Plugin: []byte("df")}, Time: 1700000000 << 30, Severity: Warning, Message: []byte("watch out"),
	})
	var wantList, wantNote Packet
	for _, b := range []struct {
		p *Packet
		b []byte
	}{{&wantList, list}, {&wantNote, e.Bytes()}} {
		if err := new(Decoder).Parse(b.p, b.b); err != nil {
			t.Fatal(err)
		}
	}
	signed := slices.Concat(blocks["signed"], blocks["list"])
	for _, test := range []struct {
		name   string
		packet []byte
		level  Level
		want   *Packet
	}{
		{"list", blocks["list"], None, &wantList},
		{"note", blocks["note"], None, &wantNote},
		{"signed", signed, Sign, &wantList},
		{"encrypted", blocks["encrypted"], Encrypt, &wantList},
	} {
		d := Decoder{Level: test.level, Users: captureUsers(t)}
		var got Packet
		if err := d.Parse(&got, test.packet); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(texts(test.want), texts(&got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	if again, err := AppendSigned(nil, "alice", "s1gn-Pa55", blocks["list"]); err != nil || !slices.Equal(again, signed) {
		t.Errorf("signed: %x, want %x (%v)", again, signed, err)
	}
	iv := [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	if again, err := AppendEncrypted(nil, "bob", "Encrypt me, 42!", iv, blocks["list"]); err != nil || !slices.Equal(again, blocks["encrypted"]) {
		t.Errorf("encrypted: %x, want %x (%v)", again, blocks["encrypted"], err)
	}
}
