package main

import (
	"context"
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
			t := c.target()
			t.strict = true
			return exitCode(runPipe(cmd.Context(), c.process, t, strings.Join(args, ""), framedPipe))
		},
	}
}

// silence is how long a session that holds the database by itself waits for the next command. Whoever talks to it begins another
// in a few milliseconds.
const silence = 200 * time.Millisecond

var errSilent = errors.New("nothing was asked for a while")

// An impatient is a reader that ends with errSilent when nothing arrives for a while. What arrives later is lost.
type impatient struct {
	ctx  context.Context
	in   io.Reader
	rest []byte // read, and not yet passed on
	err  error  // of in, to be told behind rest
	more chan piece
}

func (r *impatient) Read(b []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		if r.more == nil {
			r.more = make(chan piece)
			go readPieces(r.ctx, r.in, r.more)
		}
		wait := time.NewTimer(silence)
		defer wait.Stop()
		select {
		case p := <-r.more:
			r.rest, r.err = p.b, p.err
		case <-wait.C:
			return 0, errSilent
		}
	}
	n := copy(b, r.rest)
	if r.rest = r.rest[n:]; n > 0 {
		return n, nil
	}
	return 0, r.err
}

// A piece is what one Read returned.
type piece struct {
	b   []byte
	err error
}

// readPieces passes on what arrives at in, until it ends. What it has passed on is not read any more when the piece after it is taken.
func readPieces(ctx context.Context, in io.Reader, to chan<- piece) {
	var buffers [2][]byte
	for i := 0; ; i ^= 1 {
		if buffers[i] == nil {
			buffers[i] = make([]byte, 64<<10)
		}
		n, err := in.Read(buffers[i])
		select {
		case to <- piece{buffers[i][:n], err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}
