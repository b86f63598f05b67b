// Package types turns what the store knows of a series into messages of the RPC, and these messages
// into what the store knows.
package types

import (
	_ "embed"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
	"github.com/rondo-db/rondo/rra"
)

// Proto is the text of rondo_types.proto, which rondo.proto imports.
//
//go:embed rondo_types.proto
var Proto []byte

// SentLabels returns labels as messages.
func SentLabels(ls []core.Label) []*typesv1.Label {
	if len(ls) == 0 {
		return nil
	}
	all := make([]typesv1.Label, len(ls))
	out := make([]*typesv1.Label, len(ls))
	for i, l := range ls {
		all[i].Name, all[i].Value = l.Name, l.Value
		out[i] = &all[i]
	}
	return out
}

// ReadLabels returns the labels of messages.
func ReadLabels(ls []*typesv1.Label) []core.Label {
	if len(ls) == 0 {
		return nil
	}
	out := make([]core.Label, len(ls))
	for i, l := range ls {
		out[i] = core.Label{Name: l.GetName(), Value: l.GetValue()}
	}
	return out
}

// ops are the operators of matchers; the empty one is "=".
var ops = map[string]core.MatchOp{
	"": core.MatchEqual, "=": core.MatchEqual, "!=": core.MatchNotEqual, "=~": core.MatchRegexp, "!~": core.MatchNotRegexp,
}

// ReadMatchers returns the matchers of messages. An error names the message by its index.
func ReadMatchers(ms []*typesv1.Matcher) ([]core.Matcher, error) {
	out := make([]core.Matcher, len(ms))
	for i, m := range ms {
		op, ok := ops[m.GetOp()]
		err := fmt.Errorf("op %.100q is none of = != =~ !~", m.GetOp())
		if ok {
			out[i], err = core.NewMatcher(op, m.GetName(), m.GetValue())
		}
		if err != nil {
			return nil, fmt.Errorf("matcher %d: %w", i, err)
		}
	}
	return out, nil
}

// SentMetadata returns the metadata of a path as a message.
func SentMetadata(m core.PathMetadata) *typesv1.Metadata {
	return &typesv1.Metadata{
		Path: m.Path, TimeUs: int64(m.Time), Text: m.Text, Attributes: SentLabels(m.Attributes), Expire: m.Expire, Expired: m.Expired,
	}
}

// ReadMetadata returns the metadata of a message.
func ReadMetadata(m *typesv1.Metadata) core.PathMetadata {
	return core.PathMetadata{Path: m.GetPath(), Metadata: core.Metadata{
		Time: rra.Time(m.GetTimeUs()), Text: m.GetText(), Attributes: ReadLabels(m.GetAttributes()), Expire: m.GetExpire(), Expired: m.GetExpired(),
	}}
}

// SentNote returns a note of a key as a message.
func SentNote(key string, n core.Note) *typesv1.Note {
	return &typesv1.Note{Key: key, TimeUs: int64(n.Time), Severity: n.Severity, Text: n.Text, Labels: SentLabels(n.Labels)}
}
