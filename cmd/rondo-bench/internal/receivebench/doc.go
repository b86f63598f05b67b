// Package receivebench sends a made-up monitoring load to a receiver over loopback at a given rate,
// and measures how much of it is stored, how much is lost, and what it costs.
//
// [Run] starts the receiver and a store in a process of its own, so that the processor time of the
// receiver is known apart from the sender's. Packets are filled as the protocol's own sender fills
// them: hosts of 100 series, each with a new reading in every round. At the end Run compares what
// was stored with what was sent. [RunPeer] does the same to the program that the protocol comes
// from.
//
// The clock of the load runs faster than the real one: a round of all series is one reading of
// each, an interval (10 s) after the round before, however soon it is sent. So every value ends a
// step of its series, as on a server of a thousand times as many series.
//
// The program that calls Run must call [Child] when it is started with the argument that
// [Config.Exec] was given.
package receivebench
