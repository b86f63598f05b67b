// Package shared keeps the dashboards of a cluster, which all of its nodes list, read, save and
// drop. They are in the bucket of the cluster (package coord); see [Bucket]. Each node has a copy
// in its folder, which is what it reads; see [Pages].
//
// # In the bucket
//
// One value lists all pages: name, place and digest of each. The texts are values of their own, in
// numbered places: "dashboards.text.17". There are twice as many places as there may be pages.
//
// A save writes the text into a free place, and then the list by compare-and-set. So a save takes
// effect as a whole or not at all, and the list only names texts that are there. A place is free if
// the list does not name it and its text is older than the list. A newer text may belong to a save
// that is about to write its list. If that save fails, its place is free once the list has changed:
// then the save cannot write its list any more.
package shared
