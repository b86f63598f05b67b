package jetstream

import "context"

// Stream finds or makes a stream that is to be written.
func (c *Conn) Stream(ctx context.Context, name string) (*Server, error) {
	return c.stream(ctx, name, true)
}
