package collectd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
)

func TestParseUsers(t *testing.T) {
	const file = "# comment: no user\n" +
		"alice: s1gn-Pa55\r\n" +
		"  bob:\tEncrypt me, 42!  \n" +
		"\n" +
		"carol :a:b:c\n" +
		"dave:\n" +
		"dave2:   \n" +
		"nopassword\n" +
		"eve:last"
	u := ParseUsers(file)
	got := make(map[string]string)
	for name, u := range u.byName {
		got[name] = u.password
	}
	want := map[string]string{
		"alice": "s1gn-Pa55", "bob": "Encrypt me, 42!  ", "carol ": "a:b:c", "eve": "last",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// nest wraps parts n times, inside first: 's' is a signature, 'e' encryption.
func nest(t testing.TB, parts []byte, how string) []byte {
	t.Helper()
	for i, c := range how {
		var err error
		if c == 's' {
			parts, err = AppendSigned(nil, "alice", "s1gn-Pa55", parts)
		} else {
			parts, err = AppendEncrypted(nil, "bob", "Encrypt me, 42!", [16]byte{byte(i), 7}, parts)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return parts
}

func example(host string) []byte {
	v := ValueList{
		Names: Names{Host: []byte(host), Plugin: []byte("load"), Type: []byte("load")},
		Time:  1700000000 << 30, Interval: 10 << 30,
	}
	v.AddGauge(0.5)
	v.AddGauge(1)
	v.AddGauge(1.5)
	var e Encoder
	e.Add(&v)
	return e.Bytes()
}

func TestNesting(t *testing.T) {
	plain := example("h1")
	for _, test := range []struct {
		how                 string
		none, sign, encrypt string // what comes of it at each level: "" is a list, else the class of the error
	}{
		{"", "", "auth", "auth"},
		{"s", "", "", "auth"},
		{"e", "", "", ""},
		{"ss", "", "", "auth"},
		{"se", "", "", ""},
		{"es", "", "", "auth"}, // a signature outside is dropped with all it holds
		{"ee", "", "", ""},
		{"eeee", "", "", ""},
		{"sess", "", "", "auth"},
		{"eeeee", "limit", "limit", "limit"},
		{"sssss", "limit", "limit", "auth"},
	} {
		for level, want := range []string{test.none, test.sign, test.encrypt} {
			t.Run(fmt.Sprintf("%q/%v", test.how, Level(level)), func(t *testing.T) {
				d := Decoder{Level: Level(level), Users: captureUsers(t)}
				var p Packet
				err := d.Parse(&p, nest(t, plain, test.how))
				got := classes(p.Dropped, err)
				if want == "" && (len(p.Lists) != 1 || got != nil) || want != "" && (len(p.Lists) != 0 || !slices.Equal(got, []string{want})) {
					t.Errorf("%d lists, %v, want %q: %v", len(p.Lists), got, want, err)
				}
			})
		}
	}
}

// TestSecretParts: what stands around a protected part keeps its own protection, and state does not
// leak in or out.
func TestSecretParts(t *testing.T) {
	first, last := example("first"), example("last")
	packet := slices.Concat(first, nest(t, example("in1"), "e"), nest(t, example("in2"), "e"), last)
	for level, want := range [][]string{None: {"first", "in1", "in2", "last"}, Sign: {"in1", "in2"}, Encrypt: {"in1", "in2"}} {
		d := Decoder{Level: Level(level), Users: captureUsers(t)}
		var p Packet
		if err := d.Parse(&p, packet); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range p.Lists {
			got = append(got, string(l.Host))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("level %v (-want +got):\n%s", Level(level), diff)
		}
		if got := len(p.Dropped); got != 4-len(want) {
			t.Errorf("level %v: %d dropped, want %d", Level(level), got, 4-len(want))
		}
	}
	// A values part alone has no host: the one outside is not seen inside, nor the other way round.
	values := unhex(t, "0006000f000101000000000000f03f")
	var p Packet
	d := Decoder{Users: captureUsers(t)}
	if err := d.Parse(&p, slices.Concat(first, nest(t, values, "e"), values)); err != nil {
		t.Fatal(err)
	}
	if len(p.Lists) != 2 || string(p.Lists[1].Host) != "first" || !slices.Equal(p.Dropped, []receivers.Reason{receivers.State}) {
		t.Errorf("%d lists, dropped %v, want two of the host first and one dropped", len(p.Lists), p.Dropped)
	}
}

func TestUnverified(t *testing.T) {
	var d Decoder
	var p Packet
	if err := d.Parse(&p, nest(t, example("h"), "s")); err != nil || len(p.Lists) != 1 || !d.Unverified {
		t.Errorf("%d lists, unverified %t, %v", len(p.Lists), d.Unverified, err)
	}
	p = Packet{}
	if err := d.Parse(&p, nest(t, example("h"), "e")); receivers.ReasonOf(err) != receivers.Auth || len(p.Lists) != 0 {
		t.Errorf("encrypted without users: %d lists, %v", len(p.Lists), err)
	}
}

// TestEveryFlippedBit: no change of a signed or encrypted packet is believed. (One in the type
// makes it a part that is skipped, without an error.)
func TestEveryFlippedBit(t *testing.T) {
	for _, how := range []string{"s", "e"} {
		packet := nest(t, example("h"), how)
		d := Decoder{Level: Sign, Users: captureUsers(t)}
		for bit := range 8 * len(packet) {
			packet[bit/8] ^= 1 << (bit % 8)
			var p Packet
			if err := d.Parse(&p, packet); len(p.Lists) > 0 {
				t.Errorf("%q, bit %d flipped: %d lists, %v", how, bit, len(p.Lists), err)
			}
			packet[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestAuthFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "auth")
	write := func(text string, at int64) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Unix(at, 0), time.Unix(at, 0)); err != nil {
			t.Fatal(err)
		}
	}
	write("a: 1\n", 1000)
	f, err := openAuthFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if f.open {
		t.Error("mode 0600 is taken for readable by others")
	}
	if changed, err := f.reload(); changed || err != nil {
		t.Errorf("reload of an unchanged file: %t, %v", changed, err)
	}
	write("b: 2\n", 1001)
	if changed, err := f.reload(); !changed || err != nil || f.users.byName["b"] == nil || f.users.byName["a"] != nil {
		t.Errorf("reload of a changed file: %t, %v, %v", changed, err, f.users.byName)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if changed, err := f.reload(); changed || err == nil || f.users.byName["b"] == nil {
		t.Errorf("reload of a lost file: %t, %v, %v", changed, err, f.users.byName)
	}
	if err := os.WriteFile(name, []byte("c: 3"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err = openAuthFile(name); err != nil || !f.open {
		t.Errorf("mode 0644 is not taken for readable by others: %v", err)
	}
}
