package peer

import (
	"github.com/rondo-db/rondo/cluster/peer/peerv1"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
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

func sentRuns(rows [][]rra.Run) []*peerv1.Runs {
	out := make([]*peerv1.Runs, len(rows))
	for i, runs := range rows {
		m := new(peerv1.Runs)
		for _, r := range runs {
			m.Stream, m.Ds = append(m.Stream, r.Stream), append(m.Ds, r.DS)
			m.First, m.Count, m.Value = append(m.First, r.First), append(m.Count, r.Count), append(m.Value, r.Value)
		}
		out[i] = m
	}
	return out
}

func readRuns(sent []*peerv1.Runs) ([][]rra.Run, error) {
	var out [][]rra.Run
	for _, m := range sent {
		n := len(m.GetStream())
		if len(m.GetDs()) != n || len(m.GetFirst()) != n || len(m.GetCount()) != n || len(m.GetValue()) != n {
			return nil, malformed("rows of an update do not fit together")
		}
		var runs []rra.Run
		for i := range n {
			runs = append(runs, rra.Run{Stream: m.Stream[i], DS: m.Ds[i], First: m.First[i], Count: m.Count[i], Value: m.Value[i]})
		}
		out = append(out, runs)
	}
	return out, nil
}
