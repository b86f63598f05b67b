// Package mono speaks the protocol of Mono's counters agent of 2014: a runtime connects to an
// inspector over TCP, says which counters it samples, and sends a sample of them every interval.
//
// [Protocol] is the receiver, the inspector's side. It listens where it is told to,
// takes many agents at once, reads files that an agent has recorded, and asks agents for counters
// when it is told to: it is a receivers.Controller.
//
// Below it, [Decoder] turns the bytes of an agent into messages, however they are cut, and the
// Append functions make such bytes. [AppendRequest] and [RequestDecoder] are the other direction,
// in both [Dialect] values: the published page and the agent disagree about requests.
//
// Limits: strings of 1024 bytes, 4096 counters in a hello, values in a sample and pairs in a list;
// 256 MiB for the names that all agents together have announced. The wire is described in
// docs/wire/mono.md.
package mono
