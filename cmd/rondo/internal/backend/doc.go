// Package backend runs rrdtool's verbs, and sessions of pipe mode, where the database is.
//
// [Run] and [Pipe] find out which of four kinds of place that is, and have it do the work:
//
//	local    this process opens the database
//	server   a rondo server has the database, and is asked on its socket or by HTTP
//	daemon   another program answers, in rrdcached's protocol
//	nowhere  there is no database, or no way to it
//
// A [Target] says which database or server is meant, a [Call] what the command brings with it.
// Commands that are not verbs of rrdtool use [Target.Open] and work on the [Database] that it
// returns.
//
// A session without a server is local and lets the database go whenever its caller is silent. If a
// server has taken the database meanwhile, the session goes on as one of that server.
package backend
