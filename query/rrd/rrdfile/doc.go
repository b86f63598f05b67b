// Package rrdfile reads and writes the files of rrdtool: the native ones (.rrd), and their XML,
// which `rrdtool dump` writes and `rrdtool restore` reads.
//
// A [File] is what either holds: the definition of a series, its state, and all rows. [Open] and
// [Decode] read a native file of any machine, [ReadXML] a dump of any version; [File.WriteFile] and
// [File.AppendBinary] write a native file as rrdtool 1.7.2 does on a 64-bit little-endian machine,
// and [File.WriteXML] a dump as it prints it.
//
// [File.Machine] and [File.StateOf] go from a File to the state of a series, [New] goes back. What
// does not survive the way is in docs/rrdfile.md.
//
// Files are hostile input: whatever they hold, reading one takes memory in proportion to its size,
// and what cannot be read is an error that says where.
package rrdfile
