package rrdcached

import (
	"fmt"
	"strconv"
)

// The limits of the errors that wait for the end of a BATCH, in bytes.
const (
	maxErrors = 4 << 20  // of one BATCH
	allErrors = 64 << 20 // of all BATCHes
)

// endOfBatch stands for the samples of a slot that is the end of a BATCH. While a BATCH is on its
// way to the disk, the next one is read. So its errors come from the slots that were answered since
// the end of the BATCH before.
const endOfBatch = -1

// endBatch answers a BATCH of n commands with its errors.
func (c *conn) endBatch(commands int32) {
	n := c.failures
	if c.unlisted > 0 {
		n++
	}
	c.out = fmt.Appendf(c.out, "%d errors\n", n)
	for _, b := range c.errors {
		c.out = append(c.out, b...)
		if len(c.out) >= answerBytes && c.flush() != nil {
			break
		}
	}
	if c.unlisted > 0 {
		c.out = fmt.Appendf(c.out, "%d and %d further errors are not shown\n", commands, c.unlisted)
	}
	c.dropErrors()
}

// batchError keeps an error for the end of the BATCH. If there is no room for it, it is only
// counted.
func (c *conn) batchError(number int32, text string) {
	if c.errorBytes > maxErrors || c.s.errors.Load() > allErrors {
		c.unlisted++
		return
	}
	const digits = 12 // bytes around the text: the number, a blank, the end of the line
	n := len(c.errors) - 1
	if n < 0 || cap(c.errors[n])-len(c.errors[n]) < len(text)+digits {
		c.errors = append(c.errors, make([]byte, 0, max(min(c.errorBytes, 64<<10), 4<<10, len(text)+digits)))
		n++
	}
	before := len(c.errors[n])
	b := strconv.AppendInt(c.errors[n], int64(number), 10)
	b = append(append(append(b, ' '), text...), '\n')
	c.errors[n] = b
	c.failures++
	c.errorBytes += len(b) - before
	c.s.errors.Add(int64(len(b) - before))
}

// dropErrors forgets the errors of a BATCH.
func (c *conn) dropErrors() {
	c.s.errors.Add(-int64(c.errorBytes))
	c.errors, c.errorBytes, c.failures, c.unlisted = nil, 0, 0, 0
}
