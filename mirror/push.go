package mirror

import (
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/plan"
)

// push is whether a manifest was put; the lock is held while it is on its way.
type push struct {
	sync.Mutex
	done bool
}

// pushKey is a manifest in a repository under its tags.
type pushKey struct{ repository, tags, digest string }

func keyOf(img *image, m *plan.Manifest, tags []string) pushKey {
	return pushKey{repository: img.repository, tags: strings.Join(tags, ","), digest: m.Digest.String()}
}

// slot is where it is kept whether a manifest was put. One that no other image
// has is put once by itself: it has a slot of its own each time.
func (r *run) slot(img *image, m *plan.Manifest, tags []string) *push {
	if !r.shared[m] {
		return &push{}
	}
	slot, _ := r.pushed.LoadOrStore(keyOf(img, m, tags), &push{})
	return slot.(*push)
}
