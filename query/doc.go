// Package query reads series back: it picks the archive that serves a range at
// a resolution, and fetches its rows.
//
// [Fetch] does both. [Choose] is the choice alone, which is rrdtool's: the
// same archive as `rrdtool fetch` would take from the same file. A [Plan] is a
// choice and the whole rows that a range widens to; it gives them piece by
// piece, so that a range of any length costs no memory.
package query
