package mirror

import (
	"bytes"
	"sync"

	"github.com/opencontainers/go-digest"
)

// maxReadManifests limits the manifests in memory, in bytes: some 3,000.
const maxReadManifests = 4 << 20

// readManifests are manifests that this process has read and compared with their digests. Planning reads a
// manifest, and copying needs it again: a file of the cache takes ten system calls. Of more than fit, none are kept.
type readManifests struct {
	mu   sync.Mutex
	raw  map[digest.Digest][]byte
	size int
}

// add keeps a manifest if there is room.
func (r *readManifests) add(d digest.Digest, raw []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.raw[d]; known || r.size > maxReadManifests {
		return
	}
	if r.size += len(raw); r.size > maxReadManifests {
		r.raw = nil
		return
	}
	if r.raw == nil {
		r.raw = map[digest.Digest][]byte{}
	}
	r.raw[d] = bytes.Clone(raw) // it may be a small part of a buffer
}

// find returns a manifest, or nil.
func (r *readManifests) find(d digest.Digest) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.raw[d]
}
