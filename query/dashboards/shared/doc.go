// Package shared keeps the dashboards of a cluster, which all of its nodes list, read, save and
// drop. They are in the bucket of the cluster (package coord); see [Bucket]. Each node has a copy
// in its folder, which is what it reads; see [Pages].
//
// # In the bucket
//
// One value lists all pages: name, place and digest of each. The texts are values of their own, in
// numbered places: "dashboards.text.17". There are twice as many places as there may be pages.
//
// Whoever saves writes the text into a place that is free, and then the list, by compare-and-set of
// the list that was read. So the list is all or nothing, and it always names texts that are there.
// A place is free if the list does not name it, and its text is older than the list: a text that is
// newer may be on its way into the list. If that fails, it is free once the list has changed, for
// then it cannot get into the list any more.
package shared
