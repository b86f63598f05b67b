// Package wal keeps an ordered log of opaque records in segments and gives back, after any crash,
// every record it acknowledged.
package wal
