package collectd

import "github.com/rondo-db/rondo/receivers"

// A Packet is the content of a datagram.
type Packet struct {
	Lists   []ValueList
	Notes   []Notification
	Dropped []receivers.Reason // value lists and notifications left out
}

// Parse appends copies of the content of b to p. It returns the error of Decode.
func (d *Decoder) Parse(p *Packet, b []byte) error { return d.Decode(b, (*collector)(p)) }

type collector Packet

func (p *collector) List(v *ValueList)       { p.Lists = append(p.Lists, v.Clone()) }
func (p *collector) Note(n *Notification)    { p.Notes = append(p.Notes, n.Clone()) }
func (p *collector) Drop(r receivers.Reason) { p.Dropped = append(p.Dropped, r) }

// AddCounter appends a value.
func (v *ValueList) AddCounter(x uint64) { v.add(KindCounter, x) }

// AddAbsolute appends a value.
func (v *ValueList) AddAbsolute(x uint64) { v.add(KindAbsolute, x) }

// Clone returns a copy that shares no memory with n.
func (n *Notification) Clone() Notification {
	c := *n
	for _, f := range [...]*[]byte{&c.Host, &c.Plugin, &c.PluginInstance, &c.Type, &c.TypeInstance, &c.Message} {
		*f = append([]byte(nil), *f...)
	}
	return c
}
