package collectd

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// FuzzDecode: no packet crashes the decoder, makes it allocate out of proportion, or comes out
// otherwise after it was encoded again.
func FuzzDecode(f *testing.F) {
	for _, b := range receivertest.Hex(f, filepath.Join(captures, "*.hex")) { // real senders, and each case of the page
		f.Add(b)
	}
	f.Add(bytes.Repeat([]byte{0x0a, 0xbc, 0, 4}, 4096))                                                     // as many parts as fit
	f.Add(append(example("h"), bytes.Repeat([]byte{0, 6, 0, 15, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}, 100)...)) // as many lists as fit
	f.Add([]byte{0, 6, 0, 8, 0x1c, 0x72, 0, 0})                                                             // a number of values that is 2 bytes in 16 bits
	f.Add(nest(f, example("h"), "eeee"))                                                                    // as deep as it goes
	f.Add(nest(f, example("h"), "eeeee"))                                                                   // deeper
	users := captureUsers(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, d := range []*Decoder{{}, {Users: users}, {Users: users, Level: Sign}, {Users: users, Level: Encrypt}} {
			checkAllocation(t, d, b)
			checkRoundTrip(t, d, b)
		}
		checkCache(t, &Decoder{Users: users}, b)
	})
}

// checkAllocation: a decoder keeps what it decrypted, at each depth at most the packet's size, and
// makes an error's text.
func checkAllocation(t *testing.T, d *Decoder, b []byte) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = d.Decode(b, discard{}) // any outcome is fine
	runtime.ReadMemStats(&after)
	// Append rounds up to the size classes of the allocator; other goroutines of the test allocate
	// too.
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(2*maxNesting*len(b)+32<<10); got > most {
		t.Errorf("decoding %d bytes allocated %d, more than %d", len(b), got, most)
	}
}

// checkCache: each list finds the entry with its own names, by whatever short cut.
func checkCache(t *testing.T, d *Decoder, b []byte) {
	c := &checkedCache{t: t, cache: newCache(1 << 10)}
	for range 3 { // the entries are made, they learn what follows them, and they know
		_ = d.Decode(b, c) // any outcome is fine
	}
}

// A checkedCache looks up what it is given.
type checkedCache struct {
	t *testing.T
	*cache
	made  []string // keys, by the references of their entries
	lists int
}

// appendKey appends all that a list's entry in the cache must depend on.
func appendKey(dst []byte, v *ValueList) []byte {
	for _, p := range [...][]byte{v.Host, v.Plugin, v.PluginInstance, v.Type, v.TypeInstance, v.Kinds} {
		dst = append(append(dst, byte(len(p)), byte(len(p)>>8)), p...)
	}
	return dst
}

func (c *checkedCache) List(v *ValueList) {
	if len(v.Kinds) > maxSources {
		c.skip()
		return
	}
	key := string(appendKey(nil, v))
	e := c.find(v)
	if e == nil {
		e = c.add(v)
		c.made = append(c.made, key)
		e.Ref = core.Ref(len(c.made))
	}
	if got := c.made[e.Ref-1]; got != key {
		c.t.Errorf("list %d: %q has the entry of %q", c.lists, key, got)
	}
	c.lists++
}

func (c *checkedCache) Note(*Notification)    {}
func (c *checkedCache) Drop(receivers.Reason) {}

type discard struct{}

func (discard) List(*ValueList)       {}
func (discard) Note(*Notification)    {}
func (discard) Drop(receivers.Reason) {}

func checkRoundTrip(t *testing.T, d *Decoder, b []byte) {
	var p Packet
	_ = d.Parse(&p, b) // what came before an error counts
	var packets [][]byte
	e := Encoder{Most: 1452}
	flush := func() {
		packets = append(packets, bytes.Clone(e.Bytes()))
		e.Reset()
	}
	for i := range p.Lists {
		if !e.Add(&p.Lists[i]) {
			flush()
			if !e.Add(&p.Lists[i]) { // larger than a packet
				e.Most = 1 << 17
				e.Add(&p.Lists[i])
			}
		}
	}
	for i := range p.Notes {
		if !e.Note(&p.Notes[i]) {
			flush()
			e.Note(&p.Notes[i])
		}
	}
	flush()
	var again Packet
	for _, b := range packets {
		if err := new(Decoder).Parse(&again, b); err != nil {
			t.Fatalf("encoded again: %v\n%x", err, b)
		}
	}
	if got, want := fmt.Sprintf("%+q", texts(&again)), fmt.Sprintf("%+q", texts(&p)); got != want {
		t.Errorf("encoded again:\n%s\nwas:\n%s", got, want)
	}
	if len(again.Dropped) > 0 {
		t.Errorf("encoded again, dropped: %v", again.Dropped)
	}
}

// texts returns all of p as texts.
func texts(p *Packet) []string {
	var s []string
	for _, l := range p.Lists {
		s = append(s, fmt.Sprintf("%q %q %q %q %q %d %d %x %x", l.Host, l.Plugin, l.PluginInstance, l.Type, l.TypeInstance, l.Time, l.Interval, l.Kinds, l.Raw))
	}
	for _, n := range p.Notes {
		s = append(s, fmt.Sprintf("%q %q %q %q %q %d %d %q", n.Host, n.Plugin, n.PluginInstance, n.Type, n.TypeInstance, n.Time, n.Severity, n.Message))
	}
	return s
}

// TestDecodeAllocates: a decoder that has run once allocates nothing, whatever the protection.
func TestDecodeAllocates(t *testing.T) {
	for _, how := range []string{"", "s", "e", "se"} {
		d := Decoder{Users: captureUsers(t)}
		packet := nest(t, example("h"), how)
		var h counter
		run := func() {
			if err := d.Decode(packet, &h); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if n := testing.AllocsPerRun(100, run); n > 0 {
			t.Errorf("%q: %v allocations a packet, want none", how, n)
		}
		if h.lists != 102 {
			t.Errorf("%q: %d lists, want 102", how, h.lists)
		}
	}
}

type counter struct{ lists, notes, dropped int }

func (c *counter) List(*ValueList)       { c.lists++ }
func (c *counter) Note(*Notification)    { c.notes++ }
func (c *counter) Drop(receivers.Reason) { c.dropped++ }
