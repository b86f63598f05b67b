// Package rrdfile reads and writes the files of rrdtool: native files (.rrd), and dumps, the XML
// that `rrdtool dump` writes and `rrdtool restore` reads.
//
// A [File] is the content of either kind: the definition of a series, its state, and all rows.
//
//   - [Read] and [Decode] read a native file of any kind of machine. [ReadXML] reads a dump of any
//     version.
//   - [File.AppendBinary] makes a native file as rrdtool 1.7.2 does on 64-bit little-endian
//     machines. [File.WriteXML] writes a dump as rrdtool prints it.
//   - [File.Machine] and [File.StateOf] turn a File into the state of a series, [New] does the
//     reverse. docs/rrdfile.md lists what is lost on the way.
//
// Files are hostile input. Reading a file takes memory in proportion to its size, whatever it
// holds, and the error for a file that cannot be read says where the mistake is.
package rrdfile
