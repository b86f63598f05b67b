// Package search finds series by words while somebody types, and lists the tree of their paths.
//
// An [Index] keeps the names of all series of a store in memory, as a tree whose nodes share their
// names. It is made when somebody first asks, follows the changes of the catalogue, and is given
// up when nobody has asked for a while. Its memory counts to the store's budget. Samples do not
// touch it.
//
// [Index.Search] walks all nodes once for a query. [Index.Level] lists the children of a node.
package search
