// Package rows compresses the rows of an archive and gives them back bit for bit.
//
// [Append] codes consecutive rows of one data source as a strip; [Decode] reads a strip. The caller
// must know the number of rows and the number of primary data points in a row, and must check the
// bytes for damage: a strip has neither counts nor a checksum.
//
// Consolidation divides integers by the step and by the number of primary data points in a row. The
// codec undoes this division. It looks for a scale m such that x*m is close to an integer q for
// every row x. It stores the differences of neighbouring q, in a fixed number of bits each, and
// with each q by how many units in the last place x differs from q/m. Rows that have no such scale,
// for example measurements in full precision, are stored as bit patterns in the same way.
//
// A strip is cut into blocks of at most 128 rows. The first byte of a block is a tag that says how
// the block is coded. docs/format-rows.md describes every byte.
package rows
