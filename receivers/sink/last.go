package sink

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// Last is receivers.Sink's.
func (s *Sink) Last(_ context.Context, ref core.Ref) (at rra.Time, reading float64, err error) {
	info, err := s.store.Info(ref)
	if err != nil {
		return 0, 0, fmt.Errorf("last sample: %w", err)
	}
	at, reading = info.Machine.LastUpdate(info.State.W), math.NaN()
	for i := range info.Definition.Sources {
		if info.Definition.Sources[i].Kind == rra.Compute {
			continue
		}
		if v, err := strconv.ParseFloat(info.Machine.LastReading(&info.State, i), 64); err == nil {
			reading = v
		}
		break
	}
	return at, reading, nil
}

// Replace is receivers.Sink's.
func (s *Sink) Replace(ctx context.Context, copies []core.Copy) ([]core.Created, error) {
	out, err := s.store.Import(ctx, copies, true)
	if err != nil {
		return nil, fmt.Errorf("replace %d series: %w", len(copies), err)
	}
	return out, nil
}
