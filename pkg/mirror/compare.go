package mirror

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// ToCopy is what a destination lacks of a plan.
type ToCopy struct {
	// Images is how many images are not present, Present how many are.
	Images  int `json:"images"`
	Present int `json:"present"`
	// Bytes have to be copied. BytesPresent are those of the plan that need not, because present
	// images have them.
	Bytes        int64 `json:"bytes"`
	BytesPresent int64 `json:"alreadyThere"`
	// Absent reports whether an image, an element of the plan's Images, has to be copied. It is nil
	// if that is true for all, or for none.
	Absent func(*plan.Image) bool `json:"-"`
}

// Compare returns what the destination lacks of the plan, without changing it.
func Compare(ctx context.Context, p *plan.Plan, destination Destination, opts Options) (*ToCopy, error) {
	r, err := newComparison(ctx, p, destination, opts)
	if err != nil {
		return nil, err
	}
	absent := map[*plan.Image]bool{}
	m := &ToCopy{BytesPresent: p.Totals.Bytes, Absent: func(img *plan.Image) bool { return absent[img] }}
	for _, b := range r.neededBlobs() {
		if len(b.known()) == 0 && (r.store == nil || !r.store.Has(b.descriptor())) {
			m.Bytes += b.desc.Size
		}
	}
	counted := map[string]bool{}
	for _, img := range r.images {
		if img.present {
			m.Present++
			continue
		}
		m.Images++
		absent[img.Image] = true
		for _, mf := range img.manifests {
			if !counted[mf.Digest.String()] && (r.store == nil || !r.store.Has(manifestDescriptor(mf))) {
				counted[mf.Digest.String()] = true
				m.Bytes += mf.Size
			}
		}
	}
	m.BytesPresent -= min(m.Bytes, m.BytesPresent)
	return m, nil
}

// newComparison returns a run that has compared the plan with the destination and will do nothing
// more. Every error ends it.
func newComparison(ctx context.Context, p *plan.Plan, destination Destination, opts Options) (*run, error) {
	r, err := newRun(p, nil, destination, opts)
	if err != nil {
		return nil, err
	}
	r.strict = true
	return r, r.compare(ctx)
}
