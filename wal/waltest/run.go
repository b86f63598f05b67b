package waltest

import (
	"path/filepath"
	"testing"
)

// Run tests that a log keeps what the engine relies on.
func Run(t *testing.T, subject Subject) {
	tests := []suiteTest{
		{"Empty", testEmpty},
		{"Dense", testDense},
		{"Reopen", testReopen},
		{"RecordIsCopied", testRecordIsCopied},
		{"Sizes", testSizes},
		{"OnDurableInOrder", testOnDurableInOrder},
		{"Concurrent", testConcurrent},
		{"ReplayWhileAppending", testReplayWhileAppending},
		{"ReplayStopsAtError", testReplayStopsAtError},
		{"Barrier", testBarrier},
		{"Truncate", testTruncate},
		{"Closed", testClosed},
		{"EnqueueWhileTold", testEnqueueWhileTold},
	}
	if subject.Refuse != nil {
		tests = append(tests, suiteTest{"Refused", testRefused}, suiteTest{"RefusedUnderLoad", testRefusedUnderLoad})
	}
	if subject.Damage != nil {
		tests = append(tests, suiteTest{"Damaged", testDamaged})
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, &suite{T: t, Subject: subject, place: filepath.Join(t.TempDir(), "log")})
		})
	}
}

type suiteTest struct {
	name string
	test func(t *testing.T, s *suite)
}
