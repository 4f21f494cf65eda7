package mirror

import (
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// maxReadManifests limits the manifests in memory, in bytes: some 3,000.
const maxReadManifests = 4 << 20

// readManifests are manifests that this process has read, in full and with the right digest. Planning
// reads a manifest, and copying needs it again: a file of the cache takes ten system calls.
type readManifests struct {
	mu       sync.Mutex
	byDigest map[digest.Digest]readManifest
	size     int
}

type readManifest struct {
	desc ocispec.Descriptor
	raw  []byte
}

// add keeps a manifest if there is room.
func (r *readManifests) add(desc ocispec.Descriptor, raw []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.byDigest[desc.Digest]; known || r.size+len(raw) > maxReadManifests {
		return
	}
	if r.byDigest == nil {
		r.byDigest = map[digest.Digest]readManifest{}
	}
	r.byDigest[desc.Digest] = readManifest{desc, slices.Clip(raw)}
	r.size += len(raw)
}

// find returns a manifest.
func (r *readManifests) find(d digest.Digest) (readManifest, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.byDigest[d]
	return m, ok
}
