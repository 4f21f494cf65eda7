package mirror

import (
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/plan"
)

// A Lack is an image of a plan that a registry does not have, or not whole.
type Lack struct {
	// Source is the reference as the plan has it. Repository is the plan's path
	// and Tags are its tags; both are empty where the source did not give the
	// image to the plan.
	Source     string        `json:"source"`
	Digest     digest.Digest `json:"digest,omitempty"`
	Repository string        `json:"repository,omitempty"`
	Tags       []string      `json:"tags,omitempty"`
	Problem    string        `json:"problem"`
	// Blobs are those that are lost; see Options.CheckBlobs.
	Blobs []digest.Digest `json:"blobs,omitempty"`
}

// Verify asks a registry for every image of the plan, under its tags and with
// all of its platforms, and returns what is lacking, in the plan's order. The
// registry's word is taken for the blobs, which it accepts no manifest without,
// unless opts.CheckBlobs says otherwise.
func Verify(ctx context.Context, p *plan.Plan, registry Registry, opts Options) ([]Lack, error) {
	r, err := looked(ctx, p, registry, opts)
	if err != nil {
		return nil, err
	}
	absent := slices.DeleteFunc(slices.Clone(r.images), func(img *image) bool { return img.present })
	lacks := make([]Lack, len(absent))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	for i, img := range absent {
		lacks[i] = Lack{Source: img.Source, Digest: img.Digest, Repository: img.Repository, Tags: img.Tags}
		g.Go(func() error {
			var err error
			if lacks[i].Problem, err = r.problem(ctx, img); err == nil && lacks[i].Problem == "" {
				lacks[i].Problem = "it arrived while it was looked for"
				if r.CheckBlobs {
					lacks[i].Blobs, err = r.lost(ctx, img)
				}
				if len(lacks[i].Blobs) > 0 {
					lacks[i].Problem = lostText(lacks[i].Blobs)
				}
			}
			if err != nil {
				return fmt.Errorf("looking for %s: %w", img.Source, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, m := range p.Missing {
		lacks = append(lacks, Lack{Source: m.Source, Problem: "the plan has it as missing at the source: " + m.Reason})
	}
	return lacks, nil
}

// problem says what is lacking of an image that is not present; "" where its
// manifests are all there.
func (r *run) problem(ctx context.Context, img *image) (string, error) {
	has := func(m *plan.Manifest, tag string) (bool, error) {
		return r.registry.HasManifest(ctx, img.repository, tag, manifestDescriptor(m))
	}
	last := len(img.manifests) - 1
	if ok, err := has(img.manifests[last], ""); !ok || err != nil {
		return "it is not there", err
	}
	for _, tag := range img.Tags {
		if ok, err := has(img.manifests[last], tag); !ok || err != nil {
			return fmt.Sprintf("the tag %s is not there, or names another image", tag), err
		}
	}
	lacking := 0
	for _, m := range img.manifests[:last] {
		ok, err := has(m, "")
		if err != nil {
			return "", err
		}
		if !ok {
			lacking++
		}
	}
	if lacking == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d of its %d parts (platforms and what belongs to them) are not there", lacking, last), nil
}

// Holders finds the images of a plan that hold content, by its digest, in the
// plan's order. Content that no image holds is left out.
func Holders(p *plan.Plan, content []digest.Digest) (map[digest.Digest][]*plan.Image, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	wanted := map[digest.Digest]bool{}
	for _, d := range content {
		wanted[d] = true
	}
	holders := map[digest.Digest][]*plan.Image{}
	for i := range p.Images {
		img := &p.Images[i]
		add := func(d digest.Digest) {
			if have := holders[d]; wanted[d] && (len(have) == 0 || have[len(have)-1] != img) {
				holders[d] = append(have, img)
			}
		}
		err := contents.Walk(img.Digest,
			func(m *plan.Manifest) error { add(m.Digest); return nil },
			func(b plan.Blob) error { add(b.Digest); return nil })
		if err != nil {
			return nil, err
		}
	}
	return holders, nil
}
