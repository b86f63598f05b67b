// Package placement decides which nodes of a cluster keep which partition.
//
// A [Map] names, for each partition, the nodes that keep a replica of it, the preferred leader
// first. [New] makes the first map of a cluster. From then on [Map.Step] says which single change
// comes next, and [Map.Apply] makes it. Whoever notices that a change is due writes the new map to
// the cluster's store by compare-and-set; all nodes compute the same change from the same
// situation.
//
// # Where a replica goes
//
// Each node has a score for each partition, a hash of both (rendezvous hashing). Among the nodes
// that have room the one with the highest score gets the replica. Room is bounded: a node gets at
// most the average number of replicas, rounded up, as long as another node has room. Replicas of a
// partition go to different zones, and to have them so a node may have up to one and a half times
// the average.
//
// # What moves
//
// Replicas stay where they are unless a change makes the map better: a replica of a node that is
// gone or leaves is replaced, a node with too many gives some away, two replicas in one zone are
// taken apart, loads that differ by two or more are levelled. Each of these lowers a figure that
// cannot fall for ever, and raises none that comes before it. So the map settles, from any state.
// A node that joins a settled map gets replicas from the others, and no two others exchange any. If
// a node is lost, only its replicas move.
//
// An operator may move a replica, or choose a leader, and hold the partition: then only what must
// move does, such as a replica of a node that leaves.
//
// A partition has one move at a time. A move begins when the replicas that stay are current: the
// new node takes a copy and follows the log, and when it is current, too, the old one leaves. So a
// move never lessens how many current replicas there are.
//
// All functions are pure and deterministic: no clock, no file, nothing random.
package placement
