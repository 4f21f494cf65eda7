package gantry

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// signatureStores reads signature stores. A store that is unreachable gets no further request: a
// release may have several signatures, and each request would take as long as the first to fail.
type signatureStores struct {
	client gpg.Getter

	mu          sync.Mutex
	unreachable map[string]error // by host
}

// Get implements gpg.Getter.
func (s *signatureStores) Get(ctx context.Context, address, accept string, limit int64) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return s.client.Get(ctx, address, accept, limit) // it returns the error for an invalid URL
	}
	s.mu.Lock()
	unreachable := s.unreachable[u.Host]
	s.mu.Unlock()
	if unreachable != nil {
		return nil, unreachable
	}
	body, err := s.client.Get(ctx, address, accept, limit)
	if errors.Is(err, remote.ErrUnreachable) && ctx.Err() == nil {
		s.mu.Lock()
		s.unreachable[u.Host] = fmt.Errorf("%s is not asked again: %w", u.Host, remote.ErrUnreachable)
		s.mu.Unlock()
	}
	return body, err
}
