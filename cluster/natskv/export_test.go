package natskv

import "time"

// BelieveAfter sets how long answers may be older than what was seen.
func (s *Store) BelieveAfter(d time.Duration) { s.most = d }

// AskEvery sets the time between two questions whether there is a bucket.
func (s *Store) AskEvery(d time.Duration) { s.every = d }

// AskTimes sets how often the answer must be no before the bucket is made again.
func (s *Store) AskTimes(n int) { s.times = n }
