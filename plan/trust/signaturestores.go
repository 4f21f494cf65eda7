package trust

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// SignatureStores reads signature stores. A store that is unreachable gets no further request: a
// release may have several signatures, and each request would take as long as the first to fail.
type SignatureStores struct {
	Client gpg.Getter

	mu          sync.Mutex
	Unreachable map[string]error // by host
}

// Get implements gpg.Getter.
func (s *SignatureStores) Get(ctx context.Context, address, accept string, limit int64) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return s.Client.Get(ctx, address, accept, limit) // it returns the error for an invalid URL
	}
	s.mu.Lock()
	unreachable := s.Unreachable[u.Host]
	s.mu.Unlock()
	if unreachable != nil {
		return nil, unreachable
	}
	body, err := s.Client.Get(ctx, address, accept, limit)
	if errors.Is(err, remote.ErrUnreachable) && ctx.Err() == nil {
		s.mu.Lock()
		s.Unreachable[u.Host] = fmt.Errorf("%s is not asked again: %w", u.Host, remote.ErrUnreachable)
		s.mu.Unlock()
	}
	return body, err
}
