package receivers

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Sink takes samples in the order in which they arrived. Its methods may be called concurrently.
type Sink interface {
	// Resolve fills in Ref, Definition and Err of every request. It makes the series that do not
	// exist, all with one wait for the store. If it returns an error, which concerns all requests
	// (the store is closed, ctx has ended), the fields of the requests mean nothing.
	Resolve(ctx context.Context, reqs []Request) error

	// Submit starts to store b and returns. Batches are applied in the order of the calls. The
	// caller must not touch b until the Pending's Wait has returned. Submit may block while the
	// store is short of memory, until ctx ends.
	Submit(ctx context.Context, b *core.Batch) (Pending, error)

	// Note stores an event that is not a number under key, for example a host.
	Note(ctx context.Context, key string, n core.Note) error

	// Describe stores metadata in place of the earlier metadata of the same paths, all with one
	// wait for the store. out[i] is nil, or says why ds[i] was not stored: ErrSenderLimit,
	// core.ErrSeriesLimit.
	Describe(ctx context.Context, ds []Description) (out []error, err error)

	// Metadata returns the metadata of a path; the zero Metadata if it has none.
	Metadata(ctx context.Context, path string) (core.Metadata, error)

	// Last returns the last sample that was applied to a series: its time, or the start of a series
	// without samples, and the reading of the first data source that takes values; NaN: unknown.
	Last(ctx context.Context, ref core.Ref) (at rra.Time, reading float64, err error)
}

// Zero is the reading that a receiver puts in where a counter begins. It says nothing of how often
// samples come, unlike a 0 that was sent. The data source is no GAUGE.
var Zero = rra.Uint(0)

// Reading returns a value as a GAUGE or DDERIVE takes it. NaN is unknown.
func Reading(value float64) rra.Value {
	if math.IsNaN(value) {
		return rra.Unknown
	}
	return rra.Float(value)
}

// Finite is Reading for senders to whom an infinity is unknown as well.
func Finite(value float64) rra.Value {
	if math.IsInf(value, 0) {
		return rra.Unknown
	}
	return Reading(value)
}

// ReadingFor returns a value as a data source of a kind takes it. ok is false if the kind, COUNTER
// or DERIVE, takes whole numbers only.
func ReadingFor(kind rra.Kind, value float64) (v rra.Value, ok bool) {
	if kind != rra.Counter && kind != rra.Derive || math.IsNaN(value) {
		return Reading(value), true
	}
	return rra.Int(int64(value)), value == math.Trunc(value) && math.Abs(value) < 1<<63
}

// A Description is metadata of one path. A new path counts against its sender as a new series does.
type Description struct {
	core.PathMetadata
	Sender string
	Known  bool // the path is a series: it takes nothing from the sender's allowance
}

// AttributeOnExpiry is the attribute of metadata that says what happens when the path expires. With
// the value ExpireDelete its series is dropped. Otherwise only the metadata is forgotten, and the
// series stays.
const (
	AttributeOnExpiry = "on_expiry"
	ExpireDelete      = "delete"
)

// A Pending is a batch on its way into the store. Wait returns once the batch is durable and
// applied. Its error is a *core.RejectedError if some samples were refused. Wait is called once.
type Pending interface{ Wait() error }

// A Moved is a Pending of a Sink that replaces series. Its methods are called before Wait.
type Moved interface {
	Pending
	Moved() bool     // samples go to other series than their references say
	Renames() uint64 // changes when references may be of other paths: see core.Engine
}

// movedEvery is how long references of replaced and renamed series are used, at least, before all
// are resolved again.
const movedEvery = 30 * time.Second

// A Renewal says when references are to be resolved again because their series were replaced or
// renamed. The zero value is ready.
type Renewal struct {
	last    time.Time
	renames uint64
}

// Due reports whether they are, by a batch that was handed over now.
func (r *Renewal) Due(p Pending, now time.Time) bool {
	m, ok := p.(Moved)
	if !ok || !m.Moved() && m.Renames() == r.renames || now.Sub(r.last).Abs() < movedEvery {
		return false
	}
	r.last, r.renames = now, m.Renames()
	return true
}

// An Identity names a series: by its path, which is unique and made with [AppendComponent], and by
// its labels. Empty labels are left out.
type Identity struct {
	Path   string
	Labels []core.Label
}

// A Request asks for the reference of one series.
type Request struct {
	Identity
	// Sender is whose allowance a new series counts against: the sending host that the protocol
	// names, or else its address.
	Sender string
	// Time is the time of the first sample. A new series starts one step before its whole second.
	Time rra.Time
	// Since is when a new series starts instead, if the sender says since when its first value
	// counts; 0: it does not say.
	Since rra.Time
	// Begins returns, with Learn, what Since is if the first sample of the series comes at a time,
	// and when the receiver puts a reading of 0 in, if that is between the start and the sample.
	// By it a sink recognises a series that has had one sample, by another node of a cluster. nil:
	// both are 0.
	Begins func(first rra.Time) (since, zero rra.Time)
	// Define returns the definition of a new series. It is called only if the series does not
	// exist, or may have been made by another node a moment ago. step is in seconds, as the policy
	// prescribes; 0: the protocol's own.
	Define func(step int64) *rra.Definition
	// Relabel gives an existing series the labels of Identity.
	Relabel bool
	// Fits reports whether a series with the definition d takes the values; nil: it does if one of
	// its data sources does. Otherwise it gets no other labels, and a Resolver sets Err.
	Fits func(d *rra.Definition) bool
	// Untyped says that the sender does not say what its values are. The policy's data sources
	// apply then, if the policy has any for the series.
	Untyped bool
	// Learn says that nothing says how often samples come. The step that Define(0) has is a guess
	// then, and the sink replaces it by the one that the first samples show. Define is kept until
	// then: it should hold little memory.
	Learn bool
	// Widen says that the step that Define(0) has is the protocol's, and no sender has said it. If
	// the first samples come about as far apart as the heartbeat, or further, so that rows would be
	// unknown, the sink learns the step by them.
	Widen bool
	// Group names the series that are sent as often as this one, such as the job. With Learn the
	// series begins with the step that others of its group have shown; empty: there is no group.
	Group string

	// Ref is the reference of the series. Resolve sets it, as it does the fields below.
	Ref core.Ref
	// Made says that the series did not exist.
	Made bool
	// Definition is the definition of the series. If the series existed, it may differ from what
	// Define returns. It is shared: do not change it.
	Definition *rra.Definition
	// Err says why there is no series: ErrSenderLimit, core.ErrSeriesLimit, an invalid definition.
	Err error
}

// Starts returns when the series of a request starts if it is made with the definition d.
func (r *Request) Starts(d *rra.Definition) rra.Time {
	return cmp.Or(r.Since, rra.Seconds(max(r.Time.Unix()-d.Step, 1)))
}
