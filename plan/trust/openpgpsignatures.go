package trust

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/pkg/signature/policy"
)

// A signatureRecorder is a finder that keeps the OpenPGP signatures that it found. They are on web servers
// and in folders, so plans carry them to sites that reach neither.
type signatureRecorder struct {
	policy.Finder
	mu    sync.Mutex
	found map[string][][]byte // by the name of policy.Image
	room  int                 // how many bytes of signatures the plan has room for
}

// maxCarried is how many bytes of OpenPGP signatures a plan carries: 10,000 indexes of five images have
// half as much, and plans of any size can still be read.
const maxCarried = 64 << 20

func newSignatureRecorder(f policy.Finder) *signatureRecorder {
	return &signatureRecorder{Finder: f, found: map[string][][]byte{}, room: maxCarried}
}

// Simple implements policy.Finder. Files that are no signatures are not kept.
func (r *signatureRecorder) Simple(ctx context.Context, img policy.Image) ([][]byte, error) {
	all, err := r.Finder.Simple(ctx, img)
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(slices.Clone(all), func(body []byte) bool { return !gpg.IsSignature(body) })
	if len(kept) > 0 {
		r.mu.Lock()
		r.found[img.String()] = kept
		r.mu.Unlock()
	}
	return all, nil
}

// of returns the signatures of an image, and of the images of its index, as plans list them.
func (r *signatureRecorder) of(d *judged) []plan.Signature {
	var all []plan.Signature
	digests := append(slices.Clone(d.leaves), d.image.Digest)
	slices.Sort(digests)
	for _, at := range slices.Compact(digests) {
		img := d.image
		img.Digest = at
		for _, body := range r.found[img.String()] {
			all = append(all, plan.Signature{Digest: at, Body: body})
		}
	}
	return all
}

// record returns the plan with the signatures that were found in place of those that it has. If there are
// more than a plan accepts, a note says so.
func (r *signatureRecorder) record(p *plan.Plan, found *judgement) *plan.Plan {
	q := *p
	q.Images, q.Notes = slices.Clone(p.Images), slices.Clone(p.Notes)
	size, left := 0, 0
	for i := range q.Images {
		img := &q.Images[i]
		img.Signatures = nil
		d := found.of(img)
		if d == nil {
			continue
		}
		all := r.of(d)
		if err := plan.CheckSignatures(all); err != nil {
			q.Notes = append(q.Notes, fmt.Sprintf("the OpenPGP signatures of %s are not carried: %v; to verify them, the site needs a lookaside", img.Source, err))
			continue
		}
		more := 0
		for _, s := range all {
			more += len(s.Body)
		}
		if size+more > r.room {
			left++
			continue
		}
		size += more
		img.Signatures = all
	}
	if left > 0 {
		q.Notes = append(q.Notes, fmt.Sprintf("the OpenPGP signatures of %s are not carried: a plan has room for %d bytes of them; to verify them, the site needs a lookaside", env.Number(left, "image", "images"), r.room))
	}
	q.Notes = slices.Compact(slices.Sorted(slices.Values(q.Notes)))
	return &q
}

// carriedSignatures returns what stored.Finder.Carried is for a plan.
func carriedSignatures(p *plan.Plan) func(img policy.Image) ([][]byte, bool) {
	carried := map[string]map[digest.Digest][][]byte{} // by reference
	for i := range p.Images {
		img := &p.Images[i]
		ref, err := reference.Parse(img.Source)
		if err != nil || len(img.Signatures) == 0 {
			continue
		}
		by := carried[ref.String()]
		if by == nil {
			by = map[digest.Digest][][]byte{}
			carried[ref.String()] = by
		}
		for _, s := range img.Signatures {
			if !slices.ContainsFunc(by[s.Digest], func(body []byte) bool { return bytes.Equal(body, s.Body) }) {
				by[s.Digest] = append(by[s.Digest], s.Body)
			}
		}
	}
	return func(img policy.Image) ([][]byte, bool) {
		by, ok := carried[img.Reference.String()]
		return by[img.Digest], ok
	}
}
