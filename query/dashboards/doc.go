// Package dashboards keeps saved pages of graphs as plain text, one file each, in a folder beside
// the database.
//
// [Parse] reads the text of a page. A [Folder] lists, reads, saves and removes the files. A
// cluster's pages are in package shared. docs/dashboards.md describes the text.
package dashboards
