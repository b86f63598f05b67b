// Package transfer takes series into a store from files of rrdtool, and back.
//
// [CopyOf] and [FileOf] go from a file to a whole series and back. [Importer] does it for many at once, and [Single] is a
// store that holds nothing but a file.
package transfer
