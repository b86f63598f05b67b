package sink

import (
	"encoding/binary"
	"sync"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

const (
	mostKnown = 1000 // definitions that are kept; then all are forgotten
	knownCode = 2048 // bytes of the code of a definition that is kept
)

// A known keeps the definitions that a policy has made, so that equal series share one. The zero
// value is ready.
type known struct {
	mu     sync.Mutex
	byCode map[string]*rra.Definition // by the number of the rule and what the protocol asked for
}

// shared returns what define returns. It calls define only if no definition is kept for this rule
// and for asked.
func (k *known) shared(rule int, asked *rra.Definition, define func() (*rra.Definition, error)) (*rra.Definition, error) {
	var room [1024]byte
	code := core.AppendDefinition(binary.AppendVarint(room[:0], int64(rule)), asked)
	k.mu.Lock()
	defer k.mu.Unlock()
	if d := k.byCode[string(code)]; d != nil {
		return d, nil
	}
	d, err := define()
	if err != nil || len(code) > knownCode {
		return d, err
	}
	if len(k.byCode) >= mostKnown || k.byCode == nil {
		k.byCode = make(map[string]*rra.Definition)
	}
	k.byCode[string(code)] = d
	return d, nil
}
