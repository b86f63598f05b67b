// Package mono speaks the protocol of Mono's counters agent of 2014. A Mono runtime (the agent)
// connects to an inspector over TCP, says which counters it samples, and sends a sample of them in
// every interval.
//
// [Protocol] is the receiver, the inspector's side. It listens only at addresses that are given,
// serves many agents at once, reads files that an agent has recorded, and asks agents for counters
// on command: it is a receivers.Controller.
//
// A [Decoder] reads the messages of an agent; the Append functions write such messages.
// [AppendRequest] and [ReadRequest] are for the other direction. They know two dialects, because
// the published page and the agent disagree about requests: see [Dialect].
//
// Limits: strings of 1024 bytes; 4096 counters in a hello, values in a sample and pairs in a list;
// 256 MiB for the names that all agents together announce. docs/wire/mono.md describes the
// protocol.
package mono
