// Package query reads series back: it chooses the archive that serves a range at a resolution, and
// fetches its rows.
//
// A [Plan] is the choice of an archive, with the range widened to whole rows. Its method
// [Plan.Pieces] returns the rows in pieces, so that a long range takes no more memory than a short
// one. [ReadMany] reads many plans together. The choice is rrdtool's: the same archive that
// `rrdtool fetch` takes from the same file.
//
// [Points] is for people and for what draws for them: a range in about so many points. A [Join]
// fills what the chosen archive does not know from the others, so that a point says all that is
// known of its time, up to the last reading.
package query
