// Package receivers is the contract between the server and the protocols that it receives.
//
// Each protocol is a package below this one. It exports a [Protocol]: a name, a default address,
// flags, and New. New opens the socket and returns a [Receiver]. Its Serve reads and parses, and
// hands samples to a [Sink] until its context ends.
//
// A Sink takes samples in two steps. Resolve turns the identity of a series into a reference, once
// for each series, and makes new series. Submit takes a batch of samples by reference. Package
// receivers/sink is the Sink over an engine: it applies the policy for new series and limits their
// number.
//
// This package also holds what several receivers need: the [Queue] between the loop that reads a
// socket and the sink, [Counters] with a reason for every drop, [Resolver] and [Newcomers] to ask
// for new series, [ConnFlags], the rules for names ([AppendComponent]) and collectd's archives
// ([StandardArchives]). Package internal/sockets has the sockets.
//
// A new receiver is one folder and one line in cmd/rondo's list of protocols. Package
// receivers/lines is a complete receiver, and docs/adding-a-receiver.md explains it.
// receivertest.Run is the test suite that every receiver passes. Importing a receiver has no effect
// by itself.
package receivers
