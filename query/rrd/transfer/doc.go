// Package transfer moves series between a store and rrdtool's files. It also reads Whisper's.
//
// [CopyOf] turns a file into a series, [FileOf] a series into a file. [Import] imports many files
// at once. A [Single] is a store that holds the series of one file and nothing else. [Show] leaves
// a file with a [Note] where programs look for the file of a series.
package transfer
