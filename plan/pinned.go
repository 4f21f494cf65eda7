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
		if n, ok := p.known(source, d); ok {
			return n.desc, n.raw, nil
		}
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

// known is what the source names, where that was asked and is d.
func (p *pinned) known(source string, d digest.Digest) (named, bool) {
	p.mu.Lock()
	find := p.found[source]
	p.mu.Unlock()
	if find == nil {
		return named{}, false
	}
	n, err := find()
	return n, err == nil && n.desc.Digest == d
}
