package main

import (
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

func TestMain(m *testing.M) { rondotest.Main(m, map[string]func(){"curl": curl}) }
