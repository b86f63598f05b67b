// Package rowblock lays out the rows that the database keeps.
//
// A group of series of one shape has streams of rows, whose [Geometry] says how many rows a slot
// holds. The rows of one slot, for all series of the group, are one or more blocks, each under a
// [Key]. A block holds a column for each series and data source; a column is strips. A [Strip] is
// consecutive rows, coded by package rows. The [Directory] of a group says which blocks the
// database holds, so that a missing one is noticed.
//
// [Append] makes a block, [Open] reads one and checks it, [ReadColumn] decodes rows of a column
// into a [Target]. docs/format.md describes every byte.
package rowblock
