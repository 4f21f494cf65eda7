package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// signatureStores asks stores of signatures. One that cannot be reached is asked for
// nothing more: of each release there may be several signatures, and every one would
// be waited for as long as the first.
type signatureStores struct {
	client gpg.Getter

	mu   sync.Mutex
	lost map[string]error // by host
}

// Get implements gpg.Getter.
func (s *signatureStores) Get(ctx context.Context, address, accept string, limit int64) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return s.client.Get(ctx, address, accept, limit) // which has the words for that
	}
	s.mu.Lock()
	lost := s.lost[u.Host]
	s.mu.Unlock()
	if lost != nil {
		return nil, lost
	}
	body, err := s.client.Get(ctx, address, accept, limit)
	if errors.Is(err, remote.ErrUnreachable) && ctx.Err() == nil {
		s.mu.Lock()
		s.lost[u.Host] = fmt.Errorf("%s is not asked again: %w", u.Host, remote.ErrUnreachable)
		s.mu.Unlock()
	}
	return body, err
}
