package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// A VerifiedRegistry is the result for a registry, as gantry verify --output json prints it.
type VerifiedRegistry struct {
	Version     int                   `json:"version"`
	Destination string                `json:"destination"`
	Images      int                   `json:"images"` // that should be there
	Missing     []mirror.MissingImage `json:"lacking"`
	// ImageSets are those whose records in the mirror were verified; nil if another plan was.
	ImageSets []VerifiedImageSet `json:"imageSets,omitempty"`
	// Verified is what the signature policy found at the mirror; nil if none was applied. Refused are the
	// images that it does not accept.
	Verified *trust.VerifiedSignatures `json:"verifiedSignatures,omitempty"`
	Refused  []trust.RefusedImage      `json:"refused,omitempty"`

	// Resources is what was found about the cluster resources; nil if the workspace has none.
	Resources *VerifiedResources `json:"resources,omitempty"`

	// Blobs is which blobs were checked.
	Blobs site.BlobCheck `json:"blobs"`
	// Names are the repositories of the mirror, by the plan's repositories.
	Names map[string]reference.Reference `json:"-"`

	filled []string // mirrors at this registry that have records, if nothing is in this one
}

// verifyRegistry asks a registry for every image of a plan, and for what the cluster resources name.
func verifyRegistry(ctx context.Context, e *env.Env, o *Options, t *site.RegistryDestination, accepting *trust.SignaturePolicy, p *plan.Plan) (*Result, error) {
	to, err := t.Push(p)
	if err != nil {
		return nil, err
	}
	where := o.Locations[0]
	total := len(p.Images) + len(p.Missing)
	what := env.Number(total, "image", "images")
	if t.CheckBlobs {
		what += " and " + env.Number(len(p.Blobs), "blob", "blobs")
	}
	e.Noticef("looking for %s at %s", what, where)
	missing, err := mirror.Verify(ctx, p, to, mirror.Options{Streams: t.Streams, Log: e.Logger(), CheckBlobs: t.CheckBlobs, ReadBlobs: t.ReadBlobs})
	if err != nil {
		return nil, err
	}
	r := &VerifiedRegistry{
		Version: 1, Destination: where, Images: total, Missing: append([]mirror.MissingImage{}, missing...), Blobs: t.BlobCheck(), Names: t.Names,
	}
	if total > 0 && len(missing) == total {
		r.filled = filledPrefixes(ctx, t)
	}
	if accepting != nil {
		if r.Verified, r.Refused, err = trust.JudgeMirror(ctx, e, accepting, t, p); err != nil {
			return nil, err
		}
	}
	if r.Resources, err = verifyResources(ctx, t, p, missing, o.Resources, o.Workspace); err != nil {
		return nil, err
	}
	return &Result{Registry: r}, r.mismatch(t.ReadBlobs)
}

// filledPrefixes returns the mirrors at the registry of t that have records of image sets, without t, if the registry
// lists its repositories.
func filledPrefixes(ctx context.Context, t *site.RegistryDestination) (mirrors []string) {
	own := t.OwnRepository(setrecord.Repository)
	paths, err := t.Client.Repositories(ctx, own, maxListedRepositories)
	if err != nil {
		return nil
	}
	for _, path := range paths {
		prefix, ok := "", path == "gantry/"+setrecord.Repository
		if !ok {
			prefix, ok = strings.CutSuffix(path, "/gantry-"+setrecord.Repository)
		}
		if ok && path != own.Path {
			mirrors = append(mirrors, strings.TrimSuffix(env.RegistryScheme+t.Host+"/"+prefix, "/"))
		}
	}
	return mirrors
}

// maxListedRepositories is how many repositories are listed to find other prefixes: CNCF distribution refuses to list more.
const maxListedRepositories = 1000

// mismatch returns the error about what is missing; nil if nothing is.
func (r *VerifiedRegistry) mismatch(read bool) error {
	var texts, hints []string
	say := func(text, hint string) {
		texts = append(texts, text)
		if !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	if n := len(r.Missing); n > 0 {
		hint := "mirror again to copy them"
		switch {
		case n == r.Images && len(r.filled) > 0:
			hint = "check the prefix: image sets were mirrored to " + strings.Join(r.filled, ", ")
		case n == r.Images:
			hint = "check the prefix of the mirror, docker://HOST[:PORT][/PREFIX], or mirror to copy them"
		case read:
			hint = "mirror again with Options.ReadBlobs to copy them"
		case slices.ContainsFunc(r.Missing, func(l mirror.MissingImage) bool { return len(l.Blobs) > 0 }):
			hint = "mirror again with Options.CheckBlobs to copy them"
		}
		say(numberOf(n, r.Images)+" are not in the mirror as planned", hint)
	}
	if n := len(r.Refused); n > 0 && len(r.Missing) == 0 {
		say("the signature policy does not accept "+numberOf(n, r.Images), "mirror again with Options.Policy to copy signatures that are missing")
	}
	if r.Resources != nil && len(r.Resources.Problems) > 0 {
		hint := "write the cluster resources again with gantry cluster resources"
		if newer := r.Resources.newer; len(newer) > 0 { // the workspace knows less than the mirror
			hint = fmt.Sprintf("mirror again here, which writes them for all image sets: since the last run here, %s", strings.Join(newer, ", "))
		}
		say(env.Number(len(r.Resources.Problems), "problem", "problems")+" in the cluster resources", hint)
	}
	if len(texts) == 0 {
		return nil
	}
	return advice.New(advice.Mismatch, strings.Join(hints, "; "), "%s", strings.Join(texts, ", "))
}

// numberOf returns "2 of 10 images".
func numberOf(n, total int) string { return fmt.Sprintf("%d of %d images", n, total) }
