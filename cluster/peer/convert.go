package peer

import (
	"github.com/rondo-db/rondo/cluster/peer/peerv1"
	"github.com/rondo-db/rondo/engine/core"
)

func readRefs(refs []uint64) []core.Ref {
	out := make([]core.Ref, len(refs))
	for i, r := range refs {
		out[i] = core.Ref(r)
	}
	return out
}

// maxRefs is how many references one request has.
const maxRefs = 1 << 20

func sentRefs(refs []core.Ref) []uint64 {
	out := make([]uint64, len(refs))
	for i, r := range refs {
		out[i] = uint64(r)
	}
	return out
}

func sentCreated(out []core.Created) []*peerv1.Created {
	sent := make([]*peerv1.Created, len(out))
	for i := range out {
		sent[i] = &peerv1.Created{Ref: uint64(out[i].Ref), Failure: failureOf(out[i].Err)}
	}
	return sent
}

func readCreated(sent []*peerv1.Created, n int) ([]core.Created, error) {
	if len(sent) != n {
		return nil, malformed("%d outcomes for %d series", len(sent), n)
	}
	out := make([]core.Created, n)
	for i, c := range sent {
		out[i] = core.Created{Ref: core.Ref(c.GetRef()), Err: errorOf(c.GetFailure())}
	}
	return out, nil
}
