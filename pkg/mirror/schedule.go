package mirror

import (
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// schedule counts what each image waits for, and starts those that wait for nothing.
func (r *run) schedule() {
	r.pending.Store(int64(len(r.images)))
	r.batches, r.publishables = map[string]*pushBatch{}, map[plan.Publishable][]*image{}
	for _, img := range r.images {
		r.countForBatch(img)
		// Catalogs and releases wait for their images only where they are published: in a registry.
		if whole, ok := img.Publishable(); ok && !img.present && r.registry != nil {
			r.publishables[whole] = append(r.publishables[whole], img)
		}
	}
	for _, img := range r.images {
		for _, whole := range r.dependents(img) {
			whole.waiting++
		}
	}
	r.linkAttachments()
	start := elements.Filter(r.images, func(img *image) bool { return img.present || img.waiting == 0 })
	for _, img := range start {
		if img.present {
			r.finish(img, nil)
		} else {
			r.ready <- img
		}
	}
	if len(r.images) == 0 {
		close(r.ready)
	}
}
