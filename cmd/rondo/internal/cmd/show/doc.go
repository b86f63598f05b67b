// Package show has the commands that print or draw what a database has: show, plot, top, stats,
// notes and metadata.
package show
