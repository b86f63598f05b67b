// Package peer lets one node of a cluster use a partition of another node.
//
// A [Server] answers for the partitions that a node has, and a [Client] is one such partition as a
// core.Engine: what is above an engine does not see that the series are elsewhere. They talk over
// HTTP/2. The values named after the methods of an engine say what each question and each answer
// has, for both sides. What is new goes to the end, where an older version passes over it, and is
// read only if it is there.
//
// Errors keep their identity: what matches core.ErrNotFound on the other node matches it here. When
// the other node cannot be reached, or an answer is missing, the error wraps core.ErrUnavailable.
// A change whose answer is missing may have been made.
//
// Answers say how far the log is applied, and a request may ask for a position (core.AtLeast): a
// replica waits until it has applied the log so far. So a reader sees what was written before.
package peer
