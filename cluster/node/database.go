package node

import (
	"errors"

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
		Outdated: st.Role == core.Halted && newer(st.Err),
		Position: st.Position, Newest: st.Newest, Checkpoint: d.Checkpointed(), Log: st.Log, Damaged: st.Damaged,
	}
}

// newer reports whether err says that only a newer program can read what comes next.
func newer(err error) bool { return errors.Is(err, core.ErrNewer) || errors.Is(err, wal.ErrNewer) }
