// Package chaos has the test that breaks a cluster while it is written, and then looks whether
// every acknowledged sample is in every replica once. It runs if RONDO_CHAOS says for how long:
//
//	RONDO_CHAOS=5m go test -count=1 -timeout 0 -v ./internal/chaos
package chaos
