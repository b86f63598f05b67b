package operate

import (
	"context"
	"time"
)

// SetSleep sets how an observer waits.
func SetSleep(o *Observer, sleep func(context.Context, time.Duration) error) { o.sleep = sleep }
