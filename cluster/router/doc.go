// Package router makes one engine of many partitions.
//
// A partition is an engine that has some of the series: those whose paths hash to its number. A
// [Store] is a core.Engine over all partitions. It asks a [Directory] which engine has a partition
// now. A call for one series goes to the partition of the series. A call for many series is split,
// goes to the partitions at the same time, and the answers are put together in the order that one
// store would give.
//
// The package knows nothing of nodes, leases and connections. A partition may be a *core.Store of
// this process or a client of another node.
//
// # References
//
// A reference of a Store has the number of its partition, plus one, in the bits from 48 on, and the
// reference within the partition below them. So references of one partition follow each other, and
// a reference of a single store differs from one of a router.
//
// # What differs from one store
//
//   - Rename to a path of another partition moves the series: its reference is another one
//     afterwards. For a short time the series has both paths. See [Store.Rename].
//   - A batch may be stored in part, because one partition is out of reach. The error is then a
//     *core.PartialError.
//   - Notes are bounded by partition, not in all.
//
// # Locks
//
// limit.mu is taken alone and is held while the counts of the partitions are read. mark.mu and the
// mutexes of one call are taken last; nobody who holds one of them calls an engine.
package router
