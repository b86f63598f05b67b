package natskv

import "time"

// BelieveAfter sets how long answers may be older than what was seen.
func (s *Store) BelieveAfter(d time.Duration) { s.most = d }
