// Package shared keeps the dashboards of a cluster, which all of its nodes list, read, save and
// drop. They are in the bucket of the cluster (package coord); see [Bucket]. Each node has a copy
// in its folder, which is what it reads; see [Pages].
//
// # In the bucket
//
// One value lists all pages: name and digest of each. The texts are values of their own, under a
// key made of name and digest: what stands there is always the same.
//
// A save writes the text, and then the list by compare-and-set. So a save takes effect as a whole
// or not at all, and the list only names texts that are there. Who has taken a text off the list
// removes it, in the revision that the list had named: a save of the same text meanwhile has
// written another one. The text of a save that was interrupted stays.
package shared
