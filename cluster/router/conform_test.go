package router_test

import (
	"testing"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
)

// A router does what a store does.
func TestRouterConforms(t *testing.T) {
	enginetest.Conform(t, newRouter(t, openStores(t, 3, core.Options{}), router.Options{}), core.Options{})
}
