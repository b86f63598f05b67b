package main

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const pipeHelp = `Run commands from standard input, one a line, for a program that reads the answers: numbers in full,
and every answer with its length before it. contrib/ has what speaks it, docs/clients.md what is said.

Without a server it ends when nothing was asked for a while, so that others come to the database.`

// newPipe returns the command that programs talk to.
func newPipe(c *common) *cobra.Command {
	return &cobra.Command{
		Use:   "pipe [FOLDER]",
		Short: "Run commands from standard input, for programs",
		Long:  pipeHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return exitCode(runPipe(cmd.Context(), c.process, c.target(), strings.Join(args, ""), framedPipe))
		},
	}
}

// silence is how long a session that holds the database by itself waits for the next command. Whoever talks to it begins another
// in a few milliseconds.
const silence = 200 * time.Millisecond

var errSilent = errors.New("nothing was asked for a while")

// An impatient is a reader that ends with errSilent when nothing arrives for a while. What arrives later is lost.
type impatient struct {
	in   io.Reader
	rest []byte
	more chan piece
}

// A piece is what one Read returned.
type piece struct {
	b   []byte
	err error
}

func (r *impatient) Read(b []byte) (int, error) {
	if len(r.rest) > 0 {
		n := copy(b, r.rest)
		r.rest = r.rest[n:]
		return n, nil
	}
	if r.more == nil {
		r.more = make(chan piece, 1)
		go r.read()
	}
	wait := time.NewTimer(silence)
	defer wait.Stop()
	select {
	case p, ok := <-r.more:
		if !ok {
			return 0, io.EOF
		}
		n := copy(b, p.b)
		r.rest = p.b[n:]
		return n, p.err
	case <-wait.C:
		return 0, errSilent
	}
}

// read passes on what arrives, until the input ends. In the end the process ends with it.
func (r *impatient) read() {
	defer close(r.more)
	for {
		b := make([]byte, 64<<10)
		n, err := r.in.Read(b)
		r.more <- piece{b[:n], err}
		if err != nil {
			return
		}
	}
}
