package core

import "fmt"

// A PartialError says that some samples of a batch were not stored because the partition that has
// their series is out of reach, and that the other samples were stored or refused. Only an Engine
// of several partitions returns it. The samples that are missing may be sent again, and all others
// as well: those that were stored are refused then, because they are not after the last update.
type PartialError struct {
	Err      error          // why samples are missing; mostly wraps ErrUnavailable
	Missing  []int          // indices of the samples that were not stored, in order
	Samples  int            // of the batch
	Rejected *RejectedError // how many were stored, and which refused; nil: none was refused
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("%d of %d samples not stored: %v", len(e.Missing), e.Samples, e.Err)
}

// Unwrap returns why samples are missing.
func (e *PartialError) Unwrap() error { return e.Err }
