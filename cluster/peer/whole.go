package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// What is large goes in pieces, a piece a message. Behind a question each message begins with a
// byte that says what it is.
const (
	copyPiece   = 0
	copyEnd     = 1 // of a copy
	copyRefused = 2 // an Alter's function has failed
)

// pieces is a writer that sends what is written, a piece a message.
type pieces func(p []byte) error

func (w pieces) Write(p []byte) (n int, err error) {
	for part := range slices.Chunk(p, chunkBytes) {
		if err := w(part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// sendCopy sends a copy behind a question.
func sendCopy(send func(*message) error, c *core.Copy) error {
	packed, _ := c.AppendBinary(nil) // it does not fail
	_, err := pieces(func(p []byte) error { return send(&message{[]byte{copyPiece}, p}) }).Write(packed)
	if err != nil {
		return err
	}
	return send(&message{head: []byte{copyEnd}})
}

// A copyReader puts the pieces of copies together. All of them together may have left bytes.
type copyReader struct {
	packed bytes.Buffer
	left   int64
}

// add takes a piece. It returns the copy if the piece is the last one.
func (r *copyReader) add(piece []byte, end bool) (*core.Copy, error) {
	if r.left -= int64(len(piece)); r.left < 0 {
		return nil, fmt.Errorf("series are too large to be sent: %w", core.ErrTooLarge)
	}
	r.packed.Write(piece)
	if !end {
		return nil, nil
	}
	c := new(core.Copy)
	err := c.UnmarshalBinary(r.packed.Bytes())
	r.packed.Reset()
	return c, err
}

// receive receives what sendCopy sends.
func (r *copyReader) receive(next func() (*message, error)) (*core.Copy, error) {
	for {
		m, err := next()
		if err != nil {
			return nil, err
		}
		if len(m.rest) == 0 || m.rest[0] > copyRefused {
			return nil, malformed("a piece of a copy")
		}
		if m.rest[0] == copyRefused {
			return nil, errRefused
		}
		c, err := r.add(m.rest[1:], m.rest[0] == copyEnd)
		if c != nil || err != nil {
			return c, err
		}
	}
}

// errRefused is the error of the change of an Alter: the caller's function has failed.
var errRefused = errors.New("the change was refused")

var export = define("export", fixed[core.Ref], (*coder).bytes, func(x *call, ref *core.Ref, give func(*[]byte) bool) error {
	c, err := x.engine.Export(x.ctx, *ref)
	if err != nil {
		return err
	}
	packed, _ := c.AppendBinary(nil) // it does not fail
	_, err = x.pieces(give).Write(packed)
	return err
})

// pieces returns a writer that gives what is written.
func (x *call) pieces(give func(*[]byte) bool) io.Writer {
	return pieces(func(p []byte) error {
		give(&p)
		return x.failed
	})
}

// Export is core.Engine's.
func (c *Client) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	r := copyReader{left: DefaultMaxCopy}
	err := export.ask(ctx, c, ref, func(piece *[]byte) (bool, error) {
		_, err := r.add(*piece, false)
		return true, err
	})
	if err != nil {
		return core.Copy{}, err
	}
	x, err := r.add(nil, true)
	if err != nil {
		return core.Copy{}, err
	}
	return *x, nil
}

var backup = define("backup", none, (*coder).bytes, func(x *call, _ *struct{}, give func(*[]byte) bool) error {
	f, err := core.FolderOf(x.engine, "backup")
	if err != nil {
		return err
	}
	return f.BackupSince(x.ctx, x.pieces(give), nil)
})

// Backup writes a backup of the partition's database to w: see core.Store.Backup.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	return backup.ask(ctx, c, struct{}{}, func(piece *[]byte) (bool, error) {
		_, err := w.Write(*piece)
		return true, err
	})
}

// compared is what stores of one log are compared by.
type compared interface {
	TakeDigest(ctx context.Context, share float64) (core.Digested, error)
	AwaitDigest(ctx context.Context, at wal.Pos) (uint64, error)
}

// digestShare is the part of the time that TakeDigest works.
const digestShare = 0.5

func codeDigested(k *coder, x *core.Digested) {
	number(k, &x.At)
	fixed(k, &x.Sum)
}

// digest is AwaitDigest, for a position, and TakeDigest for none.
var digest = define("digest", number[wal.Pos], codeDigested, func(x *call, at *wal.Pos, give func(*core.Digested) bool) (err error) {
	e, ok := x.engine.(compared)
	if !ok {
		return fmt.Errorf("digest %w", core.ErrNoFolder)
	}
	d := core.Digested{At: *at}
	if d.At == 0 {
		d, err = e.TakeDigest(x.ctx, digestShare)
	} else {
		d.Sum, err = e.AwaitDigest(x.ctx, d.At)
	}
	give(&d)
	return err
})

// TakeDigest lets the replicas of the partition take a digest: see core.Store.TakeDigest. It works
// half of the time, whatever the share.
func (c *Client) TakeDigest(ctx context.Context, _ float64) (core.Digested, error) {
	return digest.one(ctx, c, 0)
}

// AwaitDigest returns the digest that was taken at a position: see core.Store.AwaitDigest.
func (c *Client) AwaitDigest(ctx context.Context, at wal.Pos) (uint64, error) {
	d, err := digest.one(core.AtLeast(ctx, at), c, at)
	return d.Sum, err
}

// stats has core.Stats in JSON.
var stats = define("stats", none, (*coder).bytes, func(x *call, _ *struct{}, give func(*[]byte) bool) error {
	packed, err := json.Marshal(x.engine.Stats())
	give(&packed)
	return err
})

// WaitFor returns when the partition on the other node has applied its log up to p. The error is
// ctx's, or says why it will not get there.
func (c *Client) WaitFor(ctx context.Context, p wal.Pos) error {
	if c.Position() >= p {
		return nil
	}
	_, err := stats.one(core.AtLeast(ctx, p), c, struct{}{})
	return err
}

// stateAge is how old counters may be before they are asked for again.
const stateAge = time.Second

// Stats is core.Engine's. Where the partition does not answer, it is what was known last.
func (c *Client) Stats() core.Stats {
	x := &c.state
	x.mu.Lock()
	defer x.mu.Unlock()
	if time.Since(x.at) < stateAge {
		return x.stats
	}
	ctx, cancel := c.bounded(context.Background())
	defer cancel()
	packed, err := stats.one(ctx, c, struct{}{})
	var now core.Stats
	if err == nil && json.Unmarshal(packed, &now) == nil {
		x.stats = now
	}
	x.at = time.Now() // whoever does not answer is not asked for each counter
	return x.stats
}

// Renames is core.Engine's. It grows with answers, and when the partition was opened anew.
func (c *Client) Renames() uint64 {
	if c.heard.Load() < time.Now().Add(-stateAge).UnixNano() {
		c.Stats()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.renames
}
