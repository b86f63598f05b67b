package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"bytes"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// Access says who may do what at a listener. The zero Access lets everybody do everything.
type Access struct {
	// Allow is the set of commands that are answered; the zero value means all.
	Allow Commands
	// User returns the user of a new connection. If it returns nil, the connection must begin with
	// the line AUTH and a token. If User is nil, the connection may do everything.
	User func() *access.User
	// Token returns the user of a token; nil: no token is known.
	Token func(token string) (*access.User, error)
}

// What users may do, by role. HELP and QUIT are in every set.
var (
	everyCommand  Commands = 1<<numCommands - 1
	adminCommands          = setOf(cmdTune, cmdFlushAll, cmdSuspendAll, cmdResumeAll)
	readCommands           = setOf(cmdFlush, cmdPending, cmdQueue, cmdStats, cmdHelp, cmdPing, cmdBatch, cmdEnd, cmdFetch, cmdFetchBin, cmdInfo,
		cmdFirst, cmdLast, cmdDump, cmdList, cmdQuit)
	commandsOf = [...]Commands{
		access.None: setOf(cmdHelp, cmdQuit), access.Read: readCommands, access.Write: everyCommand &^ adminCommands, access.Admin: everyCommand,
	}
	// wholeCommands are about all series.
	wholeCommands = setOf(cmdFlushAll, cmdQueue, cmdStats, cmdSuspendAll, cmdResumeAll)
	// namelessCommands are about none.
	namelessCommands = setOf(cmdHelp, cmdPing, cmdBatch, cmdEnd, cmdQuit, cmdWrote)
)

func setOf(ids ...cmdID) (set Commands) {
	for _, id := range ids {
		set |= 1 << id
	}
	return set
}

// A session is who is at the other end of a connection, where its listener asks for that.
type session struct {
	user    *access.User // nil: a token is needed
	token   func(token string) (*access.User, error)
	allow   Commands // of the listener
	greeted bool     // the first line was read
	checked bool     // each line is looked at
}

// setAccess sets what the peer of a new connection may do.
func (c *conn) setAccess(d Access) {
	c.allow = d.Allow
	if d.User == nil && d.Token == nil {
		return
	}
	c.session = &session{token: d.Token, allow: d.Allow}
	if d.Allow == 0 {
		c.session.allow = everyCommand
	}
	user := access.Everything()
	if d.User != nil {
		user = d.User()
	}
	if user != nil {
		c.become(user)
	}
}

// become gives the connection the rights of a user.
func (c *conn) become(u *access.User) {
	c.session.user = u
	c.session.checked = u.Role < access.Admin || u.Limited()
	c.allow = c.session.allow&commandsOf[u.Role] | setOf(cmdHelp, cmdQuit)
}

var authWord = []byte("AUTH ")

// passes reports whether a line is to be carried out. It answers the other lines: AUTH, and lines
// of a peer that may not send them.
func (c *conn) passes(line []byte) bool {
	v := c.session
	if !v.greeted {
		v.greeted = true
		if len(line) > len(authWord) && bytes.EqualFold(line[:len(authWord)], authWord) && v.token != nil {
			c.authenticate(string(bytes.TrimSpace(line[len(authWord):])))
			return false
		}
	}
	if v.user == nil {
		c.slot(failure("Authentication required: the first line must be AUTH and a token."))
		c.closing = true
		return false
	}
	if !v.checked {
		return true
	}
	cmd, ok := c.permitted(line)
	if !ok {
		c.gathered()
		c.counts[cmd.id].requests++
		c.fail(cmd, "Permission denied.")
	}
	return ok
}

func (c *conn) authenticate(token string) {
	u, err := c.session.token(token)
	if err != nil {
		c.slot(failure("The token is wrong, or has expired."))
		c.closing = true
		return
	}
	c.become(u)
	c.slot("0 Authenticated")
}

// permitted reports whether the user may send a line, as far as that depends on more than the
// command. A line that is no command is permitted: it is answered like every other one.
func (c *conn) permitted(line []byte) (cmd *command, ok bool) {
	u := c.session.user
	r, ok := parseRequest(line)
	if !ok || r.cmd == nil {
		return nil, true
	}
	only := Commands(1) << r.cmd.id
	cmd = r.cmd
	switch {
	case only&namelessCommands != 0:
		return cmd, true
	case cmd.id == cmdCreate:
		return cmd, c.mayCreate(u, r.words())
	case !u.Limited():
		return cmd, true
	case only&wholeCommands != 0:
		return cmd, false
	}
	word, ok := r.next()
	if cmd.id == cmdList {
		if ok && string(word) == "RECURSIVE" {
			word, ok = r.next()
		}
		dir, err := rrdtool.Path("", "", string(word))
		return cmd, ok && err == nil && u.Reaches(dir)
	}
	return cmd, ok && c.reaches(u, string(word))
}

// mayCreate reports whether a user may send a CREATE: who is no admin must not replace a series,
// and who is limited must not read others.
func (c *conn) mayCreate(u *access.User, words []string) bool {
	if len(words) == 0 {
		return true
	}
	args, err := createArgs(words[1:])
	switch {
	case err != nil:
		return true // it is answered with the mistake
	case u.Role < access.Admin && !args.keeps, u.Limited() && args.alone:
		return false
	}
	return c.reaches(u, words[0])
}

func (c *conn) reaches(u *access.User, name string) bool {
	path, err := c.s.names.path(name)
	return err == nil && u.Reaches(path)
}
