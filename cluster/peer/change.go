package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

// An updating is the question of an Update.
type updating struct {
	ref   core.Ref
	batch []byte // see batch.go
}

func codeUpdating(k *coder, x *updating) {
	fixed(k, &x.ref)
	k.bytes(&x.batch)
}

var update = define("update", codeUpdating, number[int], func(x *call, q *updating, give func(*int) bool) error {
	var b core.Batch
	if _, err := new(batchReader).read(q.batch, &b); err != nil {
		return err
	}
	applied, err := x.engine.Update(x.ctx, q.ref, &b)
	give(&applied)
	return err
})

// Update is core.Engine's.
func (c *Client) Update(ctx context.Context, ref core.Ref, b *core.Batch) (int, error) {
	return update.one(ctx, c, updating{ref, appendBatch(nil, b, core.Number{})})
}

var flush = define("flush", refs, none, func(x *call, q *[]core.Ref, _ func(*struct{}) bool) error {
	return x.engine.Flush(x.ctx, *q)
})

// Flush is core.Engine's.
func (c *Client) Flush(ctx context.Context, refs []core.Ref) error {
	_, err := flush.one(ctx, c, refs)
	return err
}

func codeSpec(k *coder, x *core.Spec) {
	k.flag(&x.Overwrite)
	if optional(k, &x.Copy, func(*coder, *core.Copy) {}); x.Copy != nil {
		return // it follows, and says the rest
	}
	k.text(&x.Path)
	labels(k, &x.Labels)
	k.definition(&x.Definition)
	number(k, &x.Start)
	fixed(k, &x.SmoothHash)
}

func codeCreated(k *coder, x *core.Created) {
	fixed(k, &x.Ref)
	k.error(&x.Err)
}

// create makes series. The copies follow the question, in the order of the specs.
var create = define("create", func(k *coder, x *[]core.Spec) { list(k, x, codeSpec) }, func(k *coder, x *[]core.Created) { list(k, x, codeCreated) },
	func(x *call, q *[]core.Spec, give func(*[]core.Created) bool) error {
		r := copyReader{left: cmp.Or(x.s.MaxCopy, DefaultMaxCopy)}
		for i, spec := range *q {
			if spec.Copy == nil {
				continue
			}
			c, err := r.receive(x.stream.Receive)
			if err != nil {
				return err
			}
			(*q)[i] = c.Spec(spec.Overwrite)
		}
		made, err := x.engine.CreateBatch(x.ctx, *q)
		give(&made)
		return err
	})

// CreateBatch is core.Engine's.
func (c *Client) CreateBatch(ctx context.Context, specs []core.Spec) (made []core.Created, err error) {
	if n := len(specs); n > core.MaxBatch {
		return nil, &farError{text: fmt.Sprintf("%d series at once, at most %d are possible", n, core.MaxBatch), is: []error{core.ErrInvalid}}
	}
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := c.node.rpc.CallBidiStream(own)
	defer func() { _ = stream.CloseResponse() }() // an error of it would say nothing new
	err = stream.Send(create.asked(c.target(ctx), &specs))
	for i := 0; i < len(specs) && err == nil; i++ {
		if specs[i].Copy != nil {
			err = sendCopy(stream.Send, specs[i].Copy)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) { // for EOF the answer has the reason
		return nil, c.unanswered(ctx, err)
	}
	_ = stream.CloseRequest() // the answer has the reason
	_, err = create.answers(ctx, c, stream.Receive, func(x *[]core.Created) (bool, error) {
		made = *x
		return true, nil
	})
	if len(made) != len(specs) {
		return nil, cmp.Or(err, malformed("%d outcomes for %d series", len(made), len(specs)))
	}
	return made, err
}

// An altered is a piece of the series as it is, as often as it changes meanwhile, or the end of an
// Alter.
type altered struct {
	ref   core.Ref
	piece []byte
	whole bool // it is the last piece
}

func codeAltered(k *coder, x *altered) {
	fixed(k, &x.ref)
	k.bytes(&x.piece)
	k.flag(&x.whole)
}

// alter asks the caller what the series becomes: the function that changes it is the caller's.
var alter = define("alter", (*coder).text, codeAltered, func(x *call, path *string, give func(*altered) bool) error {
	ref, err := x.engine.Alter(x.ctx, *path, func(c core.Copy) (core.Copy, error) {
		control, _ := x.ctx.Value(controlKey{}).(*http.ResponseController)
		if control == nil {
			return core.Copy{}, errors.New("an Alter that nothing bounds")
		}
		until := func(at time.Time) error {
			return errors.Join(control.SetReadDeadline(at), control.SetWriteDeadline(at))
		}
		if err := until(time.Now().Add(cmp.Or(x.s.AlterTime, DefaultAlterTime))); err != nil {
			return core.Copy{}, fmt.Errorf("bound the time of an Alter: %w", err)
		}
		became, err := x.changed(&c, give)
		if err != nil {
			return core.Copy{}, err
		}
		return *became, until(time.Time{})
	})
	give(&altered{ref: ref})
	return err
})

// changed asks the caller of an Alter what c becomes.
func (x *call) changed(c *core.Copy, give func(*altered) bool) (*core.Copy, error) {
	late := func(err error) error {
		return fmt.Errorf("the caller has not said in time what the series becomes: %w: %w", err, core.ErrUnavailable)
	}
	packed, _ := c.AppendBinary(nil) // it does not fail
	_, _ = pieces(func(p []byte) error {
		give(&altered{piece: p})
		return x.failed
	}).Write(packed)
	give(&altered{whole: true})
	if !x.flush() {
		return nil, late(x.failed)
	}
	r := copyReader{left: cmp.Or(x.s.MaxCopy, DefaultMaxCopy)}
	return r.receive(func() (*message, error) {
		m, err := x.stream.Receive()
		if err != nil {
			err = late(err)
		}
		return m, err
	})
}

// Alter is core.Engine's. change runs here, while the series waits on the other node: it has to
// return in time (Server.AlterTime).
func (c *Client) Alter(ctx context.Context, path string, change func(core.Copy) (core.Copy, error)) (ref core.Ref, err error) {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := c.node.rpc.CallBidiStream(own)
	defer func() { _ = stream.CloseResponse() }() // an error of it would say nothing new
	// For EOF the answer has the reason.
	if err := stream.Send(alter.asked(c.target(ctx), &path)); err != nil && !errors.Is(err, io.EOF) {
		return 0, c.unanswered(ctx, err)
	}
	var refused error
	r := copyReader{left: DefaultMaxCopy}
	_, err = alter.answers(ctx, c, stream.Receive, func(x *altered) (bool, error) {
		ref = x.ref
		is, err := r.add(x.piece, x.whole)
		if err != nil || is == nil {
			return true, err
		}
		r.left = DefaultMaxCopy
		became, why := change(*is)
		if refused = why; why != nil {
			err = stream.Send(&message{head: []byte{copyRefused}})
		} else {
			err = sendCopy(stream.Send, &became)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, c.unanswered(ctx, err)
		}
		return true, nil
	})
	if _, answered := errors.AsType[*farError](err); answered && refused != nil {
		return 0, refused
	}
	return ref, err
}

// A pair is what a Rename has.
type pair struct{ path, to string }

func codePair(k *coder, x *pair) {
	k.text(&x.path)
	k.text(&x.to)
}

var rename = define("rename", codePair, none, func(x *call, q *pair, _ func(*struct{}) bool) error {
	return x.engine.Rename(x.ctx, q.path, q.to)
})

// Rename is core.Engine's.
func (c *Client) Rename(ctx context.Context, path, to string) error {
	_, err := rename.one(ctx, c, pair{path, to})
	return err
}

func outcomes(k *coder, x *[]error) { list(k, x, (*coder).error) }

// each asks a question whose parts have an outcome each.
func each[Q any](ctx context.Context, c *Client, m *method[[]Q, []error], q []Q) ([]error, error) {
	errs, err := m.one(ctx, c, q)
	if len(errs) != len(q) {
		return nil, cmp.Or(err, malformed("%d outcomes for %d parts", len(errs), len(q)))
	}
	return errs, err
}

// changes returns a method whose question has parts with an outcome each.
func changes[Q any](name string, part func(*coder, *Q), do func(e core.Engine, ctx context.Context, q []Q) ([]error, error)) *method[[]Q, []error] {
	return define(name, func(k *coder, x *[]Q) { list(k, x, part) }, outcomes, func(x *call, q *[]Q, give func(*[]error) bool) error {
		errs, err := do(x.engine, x.ctx, *q)
		give(&errs)
		return err
	})
}

var relabel = changes("relabel", func(k *coder, x *core.PathLabels) {
	k.text(&x.Path)
	labels(k, &x.Labels)
}, core.Engine.Relabel)

// Relabel is core.Engine's.
func (c *Client) Relabel(ctx context.Context, ls []core.PathLabels) ([]error, error) {
	return each(ctx, c, relabel, ls)
}

var drop = changes("drop", func(k *coder, x *core.Dropping) {
	k.text(&x.Path)
	fixed(k, &x.Ref)
	number(k, &x.Before)
}, core.Engine.Drop)

// Drop is core.Engine's.
func (c *Client) Drop(ctx context.Context, list []core.Dropping) ([]error, error) {
	return each(ctx, c, drop, list)
}
