package hostile

import (
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

func TestMain(m *testing.M) { rondotest.Main(m, nil) }
