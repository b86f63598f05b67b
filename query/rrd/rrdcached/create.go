package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// create gathers a CREATE. It runs together with the CREATEs that follow it directly.
func (c *conn) create(r *request) {
	args := r.words()
	if len(args) == 0 {
		c.createAll()
		c.usage(r.cmd)
		return
	}
	file := c.s.names.file(args[0])
	path, err := c.s.names.path(args[0])
	if path == "" {
		c.createAll()
		if bad := (*nameError)(nil); errors.As(err, &bad) {
			c.fail(r.cmd, bad.Error())
		} else {
			c.fail(r.cmd, file+": "+errLeaves.Error())
		}
		return
	}
	words, err := createArgs(args[1:])
	if err != nil {
		c.createAll()
		c.fail(r.cmd, err.Error())
		return
	}
	seen := ""
	if c.peer == sockets.Local && strings.HasPrefix(args[0], "/") {
		seen = path
	}
	full := path
	path = strings.TrimSuffix(path, ".rrd")
	if _, twice := c.created[path]; twice || words.alone || len(c.creates) == maxCreates || c.createBytes > maxCreateBytes {
		c.createAll()
	}
	if c.created == nil {
		c.created = make(map[string]struct{})
	}
	c.created[path] = struct{}{}
	c.creates = append(c.creates, creating{
		number: c.number(), alone: words.alone, seen: seen, path: full, file: file, start: words.start, d: c.definition(&words),
		args: slices.Concat([]string{"create"}, words.verb[0], []string{"--", file}, words.verb[1]),
	})
	for _, arg := range args {
		c.createBytes += len(arg)
	}
	if words.alone {
		c.createAll()
	}
}

// A createWords is what the words of a CREATE behind its name say.
type createWords struct {
	verb  [2][]string // the options and the arguments of rrdtool create
	alone bool        // other series are read
	keeps bool        // a series that exists is kept
	start int64       // seconds since 1970; 0: not given
	step  int64       // seconds; 0: not given
}

// createArgs reads the words of a CREATE behind its name.
func createArgs(words []string) (c createWords, err error) {
	usage := fmt.Errorf("Usage: %s", commands[cmdCreate].usage)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		option := word[:min(len(word), 2)] // rrdcached compares no more of an option
		switch {
		case option == "-O":
			c.verb[0], c.keeps = append(c.verb[0], "--no-overwrite"), true
			continue
		case strings.HasPrefix(word, "DS:"), strings.HasPrefix(word, "RRA:"):
			c.verb[1] = append(c.verb[1], word)
			continue
		case option != "-b" && option != "-s" && option != "-t" && option != "-r", len(words) == 0:
			return c, usage
		}
		value := words[0]
		words = words[1:]
		switch option {
		case "-b":
			n, _, _ := numeral.Scan(value, 10)
			if n == -1 {
				continue // the same as no start
			}
			if n < firstSecond {
				return c, fmt.Errorf("The first entry must be after 1980.")
			}
			c.start = n
			c.verb[0] = append(c.verb[0], "--start", startText(n))
		case "-s":
			if n, _, _ := numeral.Scan(value, 10); n > 0 {
				c.step = n
				c.verb[0] = append(c.verb[0], "--step", strconv.FormatInt(n, 10))
			}
		case "-t":
			c.verb[0], c.alone = append(c.verb[0], "--template", value), true
		case "-r":
			c.verb[0], c.alone = append(c.verb[0], "--source", value), true
		}
	}
	return c, nil
}

// startText returns a time in the form in which the verb reads it as seconds since 1970. A short
// number alone would be read as a date.
func startText(n int64) string {
	const manyDigits, in1980 = 1_000_000_000, 315_532_800
	if n < manyDigits {
		return fmt.Sprintf("00:00 19800101%+ds", n-in1980)
	}
	return strconv.FormatInt(n, 10)
}

// createError replaces the error for a missing source by rrdcached's text.
func createError(err error) error {
	rest, ok := strings.CutPrefix(err.Error(), "RRD Error: error checking for source RRD ")
	if !ok {
		return err
	}
	return errors.New("RRD Error: Cannot open source RRD " + strings.TrimSuffix(rest, ": No such file or directory"))
}

// makeSeen runs a CREATE. For a client on this machine it keeps an existing series of the same
// definition if the client sees no file of its name, because the client then creates the series
// only for want of the file.
func (c *conn) makeSeen(x *creating) error {
	same := x.seen != "" && !transfer.Sees(c.s.names.base, x.seen)
	_, err := c.s.verb(c.s.life, x.args, same)
	if err == nil && x.seen != "" {
		transfer.Show(c.s.names.base, x.seen)
	}
	return err
}
