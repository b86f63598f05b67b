package peer

import (
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/peer/peerv1"
	"github.com/rondo-db/rondo/rra"
)

func sentLabels(ls []core.Label) []*peerv1.Label {
	if len(ls) == 0 {
		return nil
	}
	all := make([]peerv1.Label, len(ls))
	out := make([]*peerv1.Label, len(ls))
	for i, l := range ls {
		all[i].Name, all[i].Value = l.Name, l.Value
		out[i] = &all[i]
	}
	return out
}

func readLabels(ls []*peerv1.Label) []core.Label {
	if len(ls) == 0 {
		return nil
	}
	out := make([]core.Label, len(ls))
	for i, l := range ls {
		out[i] = core.Label{Name: l.GetName(), Value: l.GetValue()}
	}
	return out
}

func sentMatchers(ms []core.Matcher) []*peerv1.Matcher {
	out := make([]*peerv1.Matcher, len(ms))
	for i := range ms {
		value := ms[i].Value
		if value == "" && ms[i].Regexp != nil {
			value = ms[i].Regexp.String() // of a matcher that NewMatcher has not made
		}
		out[i] = &peerv1.Matcher{Name: ms[i].Name, Op: int32(ms[i].Op), Value: value, Folders: ms[i].Folders}
	}
	return out
}

func readMatchers(ms []*peerv1.Matcher) ([]core.Matcher, error) {
	out := make([]core.Matcher, len(ms))
	for i, m := range ms {
		if op := core.MatchOp(m.GetOp()); op == core.MatchBelow {
			out[i] = core.Matcher{Name: m.GetName(), Op: op, Value: m.GetValue(), Folders: append([]string{}, m.GetFolders()...)}
			continue
		}
		var err error
		if out[i], err = core.NewMatcher(core.MatchOp(m.GetOp()), m.GetName(), m.GetValue()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readRefs(refs []uint64) []core.Ref {
	out := make([]core.Ref, len(refs))
	for i, r := range refs {
		out[i] = core.Ref(r)
	}
	return out
}

func sentRefs(refs []core.Ref) []uint64 {
	out := make([]uint64, len(refs))
	for i, r := range refs {
		out[i] = uint64(r)
	}
	return out
}

func sentMetadata(m core.PathMetadata) *peerv1.PathMetadata {
	return &peerv1.PathMetadata{
		Path: m.Path, Time: int64(m.Time), Text: m.Text, Attributes: sentLabels(m.Attributes), Expire: m.Expire, Expired: m.Expired,
	}
}

func readMetadata(m *peerv1.PathMetadata) core.PathMetadata {
	return core.PathMetadata{Path: m.GetPath(), Metadata: core.Metadata{
		Time: rra.Time(m.GetTime()), Text: m.GetText(), Attributes: readLabels(m.GetAttributes()), Expire: m.GetExpire(), Expired: m.GetExpired(),
	}}
}

func sentNote(key string, n core.Note) *peerv1.Note {
	return &peerv1.Note{Key: key, Time: int64(n.Time), Severity: n.Severity, Text: n.Text, Labels: sentLabels(n.Labels)}
}

func readNote(n *peerv1.Note) core.Note {
	return core.Note{Time: rra.Time(n.GetTime()), Severity: n.GetSeverity(), Text: n.GetText(), Labels: readLabels(n.GetLabels())}
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
