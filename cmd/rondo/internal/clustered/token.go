package clustered

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/cluster/coord"
)

// Nodes without certificates know each other by a token. Where none is given, the cluster keeps one
// in its bucket, which the first node draws at random.

const keyToken = "token" // of the bucket

// sharedToken returns the token that the cluster keeps, and draws the first one.
func sharedToken(ctx context.Context, s coord.Store) (string, error) {
	for {
		token, err := keptToken(ctx, s)
		if err != nil || token != "" {
			return token, err
		}
		_, err = s.CompareAndSet(ctx, keyToken, []byte(rand.Text()+rand.Text()), 0)
		if err != nil && !errors.Is(err, coord.ErrConflict) {
			return "", fmt.Errorf("token of the cluster: %w", err)
		}
	}
}

// keptToken returns the token that the cluster keeps; empty: it keeps none.
func keptToken(ctx context.Context, s coord.Store) (string, error) {
	e, err := s.Get(ctx, keyToken)
	if err != nil {
		return "", fmt.Errorf("token of the cluster: %w", err)
	}
	return string(e.Value), nil
}
