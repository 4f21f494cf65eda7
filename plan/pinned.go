package plan

import (
	"context"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// pinned asks once what a source names: where two catalogs have one source, they
// are of the same moment.
type pinned struct {
	Images

	mu    sync.Mutex
	found map[string]func() (named, error)
}

// named is the manifest that a source names.
type named struct {
	desc ocispec.Descriptor
	raw  []byte
}

func (p *pinned) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	if d != "" {
		return p.Images.Manifest(ctx, source, d)
	}
	p.mu.Lock()
	find := p.found[source]
	if find == nil {
		find = sync.OnceValues(func() (n named, err error) {
			n.desc, n.raw, err = p.Images.Manifest(ctx, source, "")
			return n, err
		})
		if p.found == nil {
			p.found = map[string]func() (named, error){}
		}
		p.found[source] = find
	}
	p.mu.Unlock()
	n, err := find()
	return n.desc, n.raw, err
}
