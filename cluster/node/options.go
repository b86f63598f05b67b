package node

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

// Options say who a node is and what it works with.
type Options struct {
	// Name is the name of the node, which no other one has; see coord.ValidName.
	Name string
	// Address is where the other nodes reach this one: host:port.
	Address string
	// Version is the version of the program.
	Version string
	// Zone names what may fail at once with this node, such as a rack; empty: none.
	Zone string
	// Session names this start of the node; default: drawn at random.
	Session string

	// Store keeps what nodes announce.
	Store coord.Store
	// Times say how long a node may be silent.
	Times coord.Times
	// Disk keeps the replicas of this node.
	Disk Disk
	// Peers are the other nodes.
	Peers Peers

	// DiskFull returns how much the disk of the replicas has left when it takes no more, for eyes,
	// and an empty text as long as it does. It must return at once. Default: it always does.
	DiskFull func() string

	// Moves is how many partitions of the cluster may move at once; default 1.
	Moves int
	// TruncateInterval is the time between two truncations of a log; default 10 s.
	TruncateInterval time.Duration
	// DigestInterval is the time between two digests of a partition; default 1 hour, negative: none
	// are taken. The node takes one partition's after the other's.
	DigestInterval time.Duration

	// Logger gets messages that an operator can act on; nil: they are discarded.
	Logger *slog.Logger

	now   func() time.Time // the clock of a simulation
	start func(func())     // what a simulation does in place of starting a goroutine

	pause func(ctx context.Context, d time.Duration) error // waits; a simulation does not
}

// A Disk keeps the replicas of a node, one for each partition. Its methods may be called
// concurrently for different partitions.
type Disk interface {
	// Known returns the cluster that the replicas are of, and the newest map that Keep has noted.
	// Both are empty on a new disk. A map that is damaged is empty.
	Known() (cluster string, m placement.Map, err error)
	// Keep notes the map of the cluster, durably. The error wraps ErrOtherCluster if the replicas
	// are of another one.
	Keep(m placement.Map) error
	// List returns the partitions that it has a replica of.
	List() ([]int, error)
	// Open opens the replica of a partition, which follows the log. Where the disk has no replica,
	// Open makes one that holds nothing. The error wraps ErrBroken if the replica must be made
	// anew of a copy.
	Open(ctx context.Context, partition int) (Replica, error)
	// Restore makes the replica of a partition of a backup, in place of what is there, which is not
	// open. If it fails, the disk has the replica that was there, or no replica.
	Restore(ctx context.Context, partition int, backup io.Reader) error
	// Remove removes the replica of a partition, which is not open.
	Remove(partition int) error
}

// ErrBroken says that a replica cannot be opened: trying again would not help.
var ErrBroken = errors.New("the replica is broken")

// A Replica is the store of one partition.
type Replica interface {
	// Engine returns what the replica is read and written by.
	Engine() core.Engine
	// Standing returns how far the replica has come. It does not wait for anything.
	Standing() Standing
	// Promote makes it the leader, and Demote a follower, as of *core.Store.
	Promote(ctx context.Context) error
	Demote(ctx context.Context) error
	// Checkpoint lets the disk hold all that is applied.
	Checkpoint(ctx context.Context) error
	// Truncate allows the log to drop the records up to a position, if the replica leads. If
	// another process writes the log, or the log has lost records, the replica stops leading.
	Truncate(upto wal.Pos) error
	Digester
	// LastDigest returns the newest digest, without waiting.
	LastDigest() core.Digested
	// Close closes the replica. A leader writes no more.
	Close() error
}

// A Digester is a replica here or on another node, as of *core.Store.
type Digester interface {
	// TakeDigest lets a replica that leads, and all that follow it, take a digest of all that they
	// hold, at the same position. AwaitDigest returns the digest that one of them has taken there.
	TakeDigest(ctx context.Context, share float64) (core.Digested, error)
	AwaitDigest(ctx context.Context, at wal.Pos) (uint64, error)
}

// A Standing says how far a replica has come.
type Standing struct {
	Leads      bool
	Halted     bool    // it cannot follow any more: Err says why
	Outdated   bool    // it is Halted, since a newer program wrote what comes next: no copy helps
	Position   wal.Pos // all records up to it are applied
	Newest     wal.Pos // the newest one of the log that it knows of
	Checkpoint wal.Pos // after a restart it needs the records behind
	Log        wal.ID  // the identity of the log that it belongs to; zero: not known
	Err        error   // nil: it is in touch with the log
	Damaged    bool    // some of its database is known to be damaged
}

// Peers are the other nodes of the cluster.
type Peers interface {
	// Partition returns a partition of another node. It may be called often.
	Partition(node coord.Member, partition int) (Partition, error)
	// Refuses reports whether the machine of a node answers, and nobody listens at the node's
	// address: the process has ended. Where that is not certain, it returns false. It returns soon.
	Refuses(ctx context.Context, node coord.Member) bool
}

// A Partition is a replica of another node.
type Partition interface {
	core.Engine
	Digester
	// Backup writes a backup of the partition to w, as the node has it.
	Backup(ctx context.Context, w io.Writer) error
}

func (o Options) withDefaults() Options {
	o.Times = o.Times.WithDefaults()
	o.TruncateInterval = cmp.Or(o.TruncateInterval, 10*time.Second)
	o.DigestInterval = cmp.Or(o.DigestInterval, time.Hour)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.DiskFull == nil {
		o.DiskFull = func() string { return "" }
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.pause == nil {
		o.pause = sleep.For
	}
	return o
}
