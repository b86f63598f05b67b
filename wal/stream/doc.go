// Package stream keeps a log in a stream of messages that servers replicate.
//
// A [Server] is a process's connection to one stream. It stores a message behind a stated one, or
// refuses. Package jetstream has a Server of NATS JetStream. [Open] makes a [Log] of it, which
// keeps what engine/core asks of a log and passes the suite of package waltest.
//
// # One writer
//
// Several processes may believe that they are the writer. Open appends a claim, a message without
// records, and thereby becomes the writer. Each message names the message it must follow. So the
// next message of the writer before is refused, because it does not name the claim. That writer
// reads what stands there, finds another's message, and answers wal.ErrSealed from then on.
//
// A log has one message under way at a time. With several, the first might be lost on its way while
// a claim takes its place, and the second would then follow on the claim: the stream only compares
// numbers. With one under way no message can outlive its writer. Records that are enqueued
// meanwhile share the next message, so throughput does not suffer.
//
// # A publish without an answer
//
// The log publishes a message whose answer is missing again, until it is known what stands in its
// place: this message or another writer's. It reports records as failed only if the server said of
// every attempt that it kept nothing. Otherwise a record reported as failed might come to be stored
// later.
//
// # Readers
//
// [OpenReader] opens a stream without becoming its writer. [Reader.Tail] yields the records of the
// log and goes on with those that writers append. It reads whole blocks only and wants dense
// positions. What one replica lacks or has damaged it reads from another one.
//
// docs/design/cluster.md describes the messages.
package stream
