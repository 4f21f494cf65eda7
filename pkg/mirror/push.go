package mirror

import (
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A pushState is whether a manifest was pushed. It is locked during the push.
type pushState struct {
	sync.Mutex
	done bool
}

// A pushKey is a manifest in a repository under its tags.
type pushKey struct{ repository, tags, digest string }

func pushKeyOf(img *image, m *plan.Manifest, tags []string) pushKey {
	return pushKey{repository: img.repository, tags: strings.Join(tags, ","), digest: m.Digest.String()}
}

// pushStateOf returns the state of a manifest. Manifests of a single image are pushed only once
// anyway: they get a new state each time.
func (r *run) pushStateOf(img *image, m *plan.Manifest, tags []string) *pushState {
	if !r.shared[m] {
		return &pushState{}
	}
	state, _ := r.pushed.LoadOrStore(pushKeyOf(img, m, tags), &pushState{})
	return state.(*pushState)
}
