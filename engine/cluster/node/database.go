package node

import "github.com/rondo-db/rondo/engine/core"

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
