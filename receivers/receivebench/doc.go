// Package receivebench sends a made-up monitoring load to a receiver over loopback, as fast as it
// is told to, and measures what becomes of it.
//
// [Run] starts the receiver, with a store behind it, in a process of its own, so that its
// processor time is told apart from the sender's. It sends packets as the protocol's own sender fills them:
// hosts of 100 series, every reading moved on before it is sent again. At the end it compares what was
// stored with what was sent. [RunPeer] does the same to the program that the protocol comes from.
//
// Time runs faster than it does: a round of all series is one reading of each, an interval (10 s) after
// the one before, however soon it is sent. So every value closes a step of its series, as on a server
// of a thousand times as many.
//
// Nothing of rondo but the bench commands imports it. The program that calls Run must hand over
// to [Child] when it is started with the argument that [Config.Exec] was given.
package receivebench
