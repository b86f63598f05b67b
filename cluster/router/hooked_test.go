package router_test

import (
	"context"

	"github.com/rondo-db/rondo/engine/core"
)

// hooked is an engine whose calls are announced to before, which may make them fail, and to after,
// which may lose their answers.
type hooked struct {
	core.Engine
	before, after func(call string) error
}

// announced makes a call.
func announced[T any](h *hooked, call string, make func() (T, error)) (T, error) {
	var none T
	if err := h.before(call); err != nil {
		return none, err
	}
	got, err := make()
	if lost := h.after(call); lost != nil {
		return none, lost
	}
	return got, err
}

func (h *hooked) Lookup(path string) (core.Ref, error) {
	return announced(h, "Lookup", func() (core.Ref, error) { return h.Engine.Lookup(path) })
}

func (h *hooked) Resolve(ctx context.Context, refs []core.Ref, fn func(i int, x core.Series) bool) error {
	_, err := announced(h, "Resolve", func() (any, error) { return nil, h.Engine.Resolve(ctx, refs, fn) })
	return err
}

func (h *hooked) Flush(ctx context.Context, refs []core.Ref) error {
	_, err := announced(h, "Flush", func() (any, error) { return nil, h.Engine.Flush(ctx, refs) })
	return err
}

func (h *hooked) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	return announced(h, "Export", func() (core.Copy, error) { return h.Engine.Export(ctx, ref) })
}

func (h *hooked) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	return announced(h, "CreateBatch", func() ([]core.Created, error) { return h.Engine.CreateBatch(ctx, specs) })
}

func (h *hooked) Alter(ctx context.Context, path string, change func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	return announced(h, "Alter", func() (core.Ref, error) { return h.Engine.Alter(ctx, path, change) })
}

func (h *hooked) SetMetadata(ctx context.Context, ms []core.PathMetadata) ([]error, error) {
	return announced(h, "SetMetadata", func() ([]error, error) { return h.Engine.SetMetadata(ctx, ms) })
}

func (h *hooked) Drop(ctx context.Context, list []core.Dropping) ([]error, error) {
	return announced(h, "Drop", func() ([]error, error) { return h.Engine.Drop(ctx, list) })
}

func (h *hooked) Relabel(ctx context.Context, ls []core.PathLabels) ([]error, error) {
	return announced(h, "Relabel", func() ([]error, error) { return h.Engine.Relabel(ctx, ls) })
}

// nothing is a hook that does nothing.
func nothing(string) error { return nil }

// hook returns dir with every engine announced.
func (s stores) hook(before, after func(call string) error) stores {
	var out stores
	for _, e := range s {
		out = append(out, &hooked{e, before, after})
	}
	return out
}
