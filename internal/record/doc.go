// Package record writes and reads the fields of the engine's records: in the log and in the
// database.
//
// Functions named Append write a field, methods of [Reader] read it. A Reader remembers the first
// field that does not fit and returns zeros from then on, so that a caller looks at Err once, at
// the end. Both sides of a field stand next to each other here. What a record is made of is the
// business of the code that writes it, and of docs/format.md.
//
// A value of the database ends with a checksum that [AppendSum] adds and [CutSum] checks and
// removes.
package record
