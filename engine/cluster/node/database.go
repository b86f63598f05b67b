package node

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// A database is a Replica that is a store of the engine.
type database struct{ *core.Store }

// Engine is as Replica has it.
func (d *database) Engine() core.Engine { return d.Store }

// Standing is as Replica has it.
func (d *database) Standing() Standing {
	st, _ := d.Store.Standing()
	return Standing{
		Leads: st.Role == core.Leader, Halted: st.Role == core.Halted, Err: st.Err,
		Position: st.Position, Newest: st.Newest, Checkpoint: d.Checkpointed(),
	}
}

// Digest is as Replica has it. There is one only if nothing was applied while it was taken.
func (d *database) Digest(ctx context.Context) (wal.Pos, uint64, error) {
	before, _ := d.Store.Standing()
	if before.Position != before.Newest {
		return 0, 0, nil
	}
	groups, err := d.Store.Digest(ctx)
	if err != nil {
		return 0, 0, err
	}
	if after, _ := d.Store.Standing(); after.Position != before.Position || after.Newest != before.Newest {
		return 0, 0, nil
	}
	h := fnv.New64a()
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		_, _ = h.Write(binary.LittleEndian.AppendUint64([]byte(name), groups[name])) // it does not fail
	}
	return before.Position, h.Sum64(), nil
}
