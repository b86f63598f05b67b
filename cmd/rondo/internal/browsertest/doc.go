// Package browsertest has no code. Its tests look at the page of `rondo serve` in a real browser,
// headless Chromium, as a person would: they type, press, drag and read.
//
// One server with one database serves all tests. The database is made anew for each run: forty
// hosts as collectd would fill them, some with a year of history, metrics of Ganglia, a series with
// Holt-Winters archives, and names and texts that would be markup if the page let them.
//
// A test waits for a condition, never for a time. Each tab fails its test for every error or
// warning in the console, every request to another host, and every breach of the page's security
// policy. What a test photographs is kept in the folder that RONDO_SHOTS names.
package browsertest
