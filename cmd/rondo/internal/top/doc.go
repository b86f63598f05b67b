// Package top is the table of `rondo top`: what changes most.
//
// A [Model] holds the newest rows of all data sources, sorts them and filters them. A [View] draws
// a window of it and obeys keys. Neither of them reads a database: rows come from answers of the
// RPC's method Latest.
package top
