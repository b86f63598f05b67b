// Package receivebench sends a synthetic monitoring load to a receiver over loopback at a given
// rate. It measures how much of the load is stored, how much is lost, and what that costs.
//
// [Run] starts the receiver and a store in a separate process, so that the processor times of
// receiver and sender are known separately. The packets look as the protocol's own sender makes
// them: hosts of 100 series, with a new reading of each series in every round. At the end Run
// compares the stored values with those that were sent. [RunPeer] measures the original program of
// the protocol in the same way.
//
// The clock of the load runs faster than the real one. A round is one reading of each series, and
// its time is an interval (10 s) after the round before, however soon it is sent. Every value
// therefore ends a step of its series, as on a server with a thousand times as many series.
//
// A program that calls Run must call [Child] when it is started with the argument that
// [Config.Exec] was given.
package receivebench
