// Package kafka keeps a log in a topic of Kafka. Open connects to the brokers, makes the topic if
// it is missing, checks that it keeps what is acknowledged, and returns a log that package
// engine/core can stand on.
//
// # How a message follows another one
//
// A log lets a message follow only the newest one (stream.Server.Publish), so that a second writer
// finds out that it is one. Kafka appends whatever comes. So each record says in its key at which
// offset it counts. At any other offset it is void, and every reader leaves it out.
//
// A writer names the offset behind the newest message that it knows. If another record is there
// first, the writer's own record lands behind it and is void. The offset that Kafka answers tells
// the writer so. A copy that arrives late, from an attempt that nobody waits for any more, is void
// for the same reason.
//
// docs/cluster.md says which settings must hold, and docs/decisions/0026-kafka.md why the log does
// not rely on Kafka's transactions.
package kafka
