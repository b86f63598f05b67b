package rrdcached

import (
	"bytes"
	"strings"

	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
)

// A cmdID is the number of a command: its bit in Commands, and its index in Stats.
type cmdID uint8

const (
	cmdUpdate cmdID = iota
	cmdFlush
	cmdFlushAll
	cmdPending
	cmdForget
	cmdQueue
	cmdStats
	cmdHelp
	cmdPing
	cmdBatch
	cmdFetch
	cmdFetchBin
	cmdInfo
	cmdFirst
	cmdLast
	cmdCreate
	cmdTune
	cmdDump
	cmdList
	cmdSuspend
	cmdResume
	cmdSuspendAll
	cmdResumeAll
	cmdQuit
	cmdEnd
	cmdWrote

	numCommands
)

// A command is one word of the protocol.
type command struct {
	id    cmdID
	name  string
	usage string // the syntax that HELP and errors show
	help  string // the description that HELP shows, in lines

	always bool // allowed on every socket
	batch  bool // allowed in a BATCH
	hidden bool // not shown by HELP
	quick  bool // the answer does not depend on the samples before the request
}

// commands are in the order of cmdID, in which HELP shows them.
var commands = [numCommands]command{
	{
		id: cmdUpdate, name: "UPDATE", usage: "UPDATE <filename> <values> [<values> ...]", batch: true,
		help: "Stores samples of a series and answers when they are durable. Each <values> is\n" +
			"<time>:<value>[:<value>...], the time in seconds since 1970. The first that is\nrefused ends the command; those before it stay.",
	},
	{
		id: cmdFlush, name: "FLUSH", usage: "FLUSH <filename>", batch: true, quick: true,
		help: "Answers when everything of the series is stored, as it is at once. Samples that a\nreorder window holds back are let go.",
	},
	{
		id: cmdFlushAll, name: "FLUSHALL", usage: "FLUSHALL", quick: true,
		help: "Answers when everything of all series is stored, as it is at once. Samples that a\nreorder window holds back are let go.",
	},
	{id: cmdPending, name: "PENDING", usage: "PENDING <filename>", quick: true, help: "Shows samples that are not stored yet. There never are any."},
	{
		id: cmdForget, name: "FORGET", usage: "FORGET <filename>", batch: true, quick: true,
		help: "Forgets samples that are not stored yet. There never are any: the series stays as\nit is.",
	},
	{id: cmdQueue, name: "QUEUE", usage: "QUEUE", quick: true, help: "Shows series that wait to be written. None does."},
	{id: cmdStats, name: "STATS", usage: "STATS", help: "Shows counters: see docs/rrdcached.md."},
	{id: cmdHelp, name: "HELP", usage: "HELP [<command>]", always: true, quick: true},
	{id: cmdPing, name: "PING", usage: "PING", quick: true, help: "Answers PONG."},
	{
		id: cmdBatch, name: "BATCH", usage: "BATCH",
		help: "Begins many commands whose answers are not wanted one by one. A dot on a line of\n" +
			"its own ends them, and is answered with the number of errors and, for each of them,\nthe number of the command and what was wrong.",
	},
	{
		id: cmdFetch, name: "FETCH", usage: "FETCH <file> <CF> [<start> [<end>] [<column>...]]",
		help: "Shows rows of a series: all its columns, or those named. Times are seconds since\n1970, or back from now where they are not above 0.",
	},
	{
		id: cmdFetchBin, name: "FETCHBIN", usage: "FETCHBIN <file> <CF> [<start> [<end>] [<column>...]]",
		help: "Does what FETCH does, and answers with doubles column by column.",
	},
	{id: cmdInfo, name: "INFO", usage: "INFO <filename>", help: "Shows what a series is made of, and its state: lines of <key> <type> <value>."},
	{id: cmdFirst, name: "FIRST", usage: "FIRST <filename> <rra index>", help: "Shows the time of the first row of an archive."},
	{id: cmdLast, name: "LAST", usage: "LAST <filename>", help: "Shows the time of the last sample, down to a whole step."},
	{
		id: cmdCreate, name: "CREATE", batch: true,
		usage: "CREATE <filename> [-b start] [-s step] [-O] <DS definitions> <RRA definitions>",
		help:  "Makes a series, in place of one that is there unless -O is given. -t takes the\ndefinition of another series, -r fills in from others.",
	},
	{id: cmdTune, name: "TUNE", usage: "TUNE <filename> [options]", help: "Changes a series, with the options of rrdtool tune."},
	{id: cmdDump, name: "DUMP", usage: "DUMP <filename> [-h none|xsd|dtd]", help: "Writes a series as XML, without a line before it, and disconnects."},
	{
		id: cmdList, name: "LIST", usage: "LIST [RECURSIVE] /[<path>]",
		help: "Shows the series and directories of a directory; with RECURSIVE the series below\nits directories too.",
	},
	{id: cmdSuspend, name: "SUSPEND", usage: "SUSPEND <filename>", batch: true, quick: true, help: "Is noted, and has no effect: there are no files to leave alone."},
	{id: cmdResume, name: "RESUME", usage: "RESUME <filename>", batch: true, quick: true, help: "Ends SUSPEND."},
	{id: cmdSuspendAll, name: "SUSPENDALL", usage: "SUSPENDALL", batch: true, quick: true, help: "Is SUSPEND for every series that was updated."},
	{id: cmdResumeAll, name: "RESUMEALL", usage: "RESUMEALL", batch: true, quick: true, help: "Ends SUSPENDALL."},
	{id: cmdQuit, name: "QUIT", usage: "QUIT", always: true, batch: true, help: "Disconnects."},
	{id: cmdEnd, name: ".", hidden: true, batch: true},
	{id: cmdWrote, name: "WROTE", hidden: true},
}

// findCommand returns the command of a name in upper or lower case, or nil.
func findCommand(name []byte) *command {
	for i := range commands {
		cmd := &commands[i]
		if len(cmd.name) == len(name) && bytes.EqualFold(name, []byte(cmd.name)) {
			return cmd
		}
	}
	return nil
}

// shown returns the lines that HELP shows for a command, or the overview if cmd is nil or hidden.
func shown(cmd *command) (title string, lines []string) {
	if cmd == nil || cmd.hidden {
		for i := range commands {
			if !commands[i].hidden {
				lines = append(lines, commands[i].usage)
			}
		}
		return "Command overview", lines
	}
	lines = []string{"Usage: " + cmd.usage, ""}
	if cmd.help != "" {
		lines = append(append(lines, strings.Split(cmd.help, "\n")...), "")
	}
	return "Help for " + cmd.name, lines
}

// MaxLine is the longest request in bytes, without the line feed at its end.
const MaxLine = wire.MaxLine

var blank = []byte{' '}

// A request is a line that is being split into words.
type request struct {
	cmd  *command // nil: the command is unknown
	name []byte   // the command as the client wrote it
	args []byte   // the rest of the line
	has  bool     // another word follows, which may be empty
}

// parseRequest reads the command of a line. ok is false if the first word ends in a backslash.
func parseRequest(line []byte) (r request, ok bool) {
	raw, rest, more, ok := wire.CutWord(wire.UntilZero(line))
	if !ok {
		return r, false
	}
	r.name, r.args, r.has = wire.Unescape(raw), rest, more
	r.cmd = findCommand(r.name)
	return r, true
}

// next takes the next word off r. ok is false after the last word.
func (r *request) next() (word []byte, ok bool) {
	raw, ok := r.nextRaw()
	if !ok {
		return nil, false
	}
	return wire.Unescape(raw), true
}

// nextRaw is next for a word with its backslashes.
func (r *request) nextRaw() (raw []byte, ok bool) {
	if !r.has {
		return nil, false
	}
	raw, r.args, r.has, ok = wire.CutWord(r.args)
	return raw, ok
}

// words returns the words that are left.
func (r *request) words() []string {
	var ws []string
	for {
		w, ok := r.next()
		if !ok {
			return ws
		}
		ws = append(ws, string(w))
	}
}
