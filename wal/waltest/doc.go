// Package waltest tests logs. [Run] is the suite that any log passes which the engine is to stand
// on, and [Disk] a file system in memory that loses power, fills up and fails.
package waltest
