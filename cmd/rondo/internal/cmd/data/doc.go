// Package data has the commands that work on a whole database or on many series: import and export,
// drop and rename, backups, checks and repairs, and the log.
package data
