package api

import "time"

// Limited returns c with limits for tests: samples of a query, places and time.
func Limited(c Config, samples, places int, timeout time.Duration) Config {
	c.samples, c.places, c.timeout = samples, places, timeout
	return c
}
