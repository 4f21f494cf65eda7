package mirror

import (
	"context"

	"github.com/gantry-mirror/gantry/plan"
)

// Missing is what a destination lacks of a plan.
type Missing struct {
	// Images is how many images are not there, Present how many are.
	Images  int `json:"images"`
	Present int `json:"present"`
	// Bytes have to move; AlreadyThere need not, since an image that is there
	// holds them.
	Bytes        int64 `json:"bytes"`
	AlreadyThere int64 `json:"alreadyThere"`
}

// Look finds what the sink lacks, without changing it.
func Look(ctx context.Context, p *plan.Plan, sink Sink, opts Options) (*Missing, error) {
	r, err := looked(ctx, p, sink, opts)
	if err != nil {
		return nil, err
	}
	m := &Missing{AlreadyThere: p.Totals.Bytes}
	for _, b := range r.need() {
		if len(b.known()) == 0 && (r.holder == nil || !r.holder.Has(b.descriptor())) {
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
		for _, mf := range img.manifests {
			if !counted[mf.Digest.String()] && (r.holder == nil || !r.holder.Has(manifestDescriptor(mf))) {
				counted[mf.Digest.String()] = true
				m.Bytes += mf.Size
			}
		}
	}
	m.AlreadyThere -= min(m.Bytes, m.AlreadyThere)
	return m, nil
}

// looked is a run that found out which images are there, and does no more. Every
// error ends it.
func looked(ctx context.Context, p *plan.Plan, sink Sink, opts Options) (*run, error) {
	r, err := newRun(p, nil, sink, opts)
	if err != nil {
		return nil, err
	}
	r.strict = true
	return r, r.look(ctx)
}
