// Package receivers is the contract between the server and the protocols it
// listens to.
//
// A protocol is a package of its own below this one and exports one value, a
// [Protocol]: its name, where it listens by default, the flags it adds, and
// New. New opens the socket and returns a [Receiver]; its Serve reads, parses
// and hands samples to a [Sink] until its context ends.
//
// A Sink takes samples in two steps. Resolve turns the identities of series into
// references, once a series, and makes those that are new; Submit takes a batch
// of samples by reference. Package receivers/sink is the Sink over an engine: it
// applies the policy for new series and the limits on their number.
//
// What receivers have in common stands here too: the [Queue] between the loop
// that reads a socket and the sink, [Counters] with a reason for every drop,
// [Resolve], [Pause] and [Absence] for asking for new series, [ConnFlags], the
// rules for names ([AppendComponent]) and collectd's set of archives
// ([StandardArchives]). Sockets are package internal/sockets, which other
// servers of the module use too.
//
// A new receiver is one folder and one line in cmd/rondo's list of protocols:
// docs/adding-a-receiver.md shows a whole one, which is package receivers/lines.
// receivertest.Run is the suite that it passes. Nothing happens on import.
package receivers
