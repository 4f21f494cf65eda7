package check

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
	"github.com/gantry-mirror/gantry/plan/proof"
)

// planned returns what a plan requires of the mirror, and which of its images are missing.
func (c *platformCheck) planned(ctx context.Context, p *plan.Plan) (proof.Plan, error) {
	out := proof.Plan{Name: p.Name, Releases: p.Releases, GraphData: p.GraphData != nil}
	for _, u := range p.Updates {
		update := proof.Update{Channel: u.Channel, Arch: u.Arch, From: u.From, To: u.To}
		for _, h := range u.Hops {
			hop := proof.Hop{From: h.From, To: h.To}
			for _, r := range h.Risks {
				hop.Risks = append(hop.Risks, r.Name)
			}
			update.Hops = append(update.Hops, hop)
		}
		out.Updates = append(out.Updates, update)
	}
	out.Notes = slices.DeleteFunc(slices.Clone(p.Notes), func(note string) bool {
		return !strings.HasPrefix(note, "release ") || !strings.Contains(note, "blockedImages")
	})
	var err error
	out.Missing, err = c.missingImages(ctx, p.OnlyReleases())
	return out, err
}

// unsigned returns the signatures that clusters require of releases and that the images of a plan do not include.
func unsigned(releases []plan.Release, images ...[]proof.Part) (all []proof.MissingImage) {
	signed := map[string]bool{}
	for _, part := range slices.Concat(images...) {
		signed[part.Release] = signed[part.Release] || part.Signatures
	}
	for i := range releases {
		if v, err := semver.Parse(releases[i].Version); err == nil && cosign.Needed(v) && !signed[releases[i].Name()] {
			const problem, hint = "they were left out, and clusters of OpenShift 4.21 and later do not pull without them", "mirror again without signatures: remove and --remove-signatures"
			all = append(all, proof.MissingImage{Problem: problem, Hint: hint, Parts: []proof.Part{{Release: releases[i].Name(), Signatures: true}}})
		}
	}
	return all
}

// missingImages returns which images of a plan of releases the mirror does not have.
func (c *platformCheck) missingImages(ctx context.Context, p *plan.Plan) ([]proof.MissingImage, error) {
	destination, err := c.target.Push(p)
	if err != nil {
		return nil, err
	}
	found, err := mirror.Verify(ctx, p, destination, mirror.Options{Streams: c.target.Streams, Log: c.env.Logger(), CheckBlobs: c.target.CheckBlobs, ReadBlobs: c.target.ReadBlobs})
	if err != nil {
		return nil, err
	}
	parts := map[[2]string][]proof.Part{} // by source, and repository in the mirror
	for _, img := range p.Images {
		parts[[2]string{img.Source, img.Repository}] = partsOf(img.Kind, img.Reasons)
	}
	missing := map[string][]proof.Part{}
	for _, m := range p.Missing {
		missing[m.Source] = partsOf(m.Kind, m.Reasons)
	}
	missingImages := unsigned(p.Releases, slices.AppendSeq(slices.Collect(maps.Values(parts)), maps.Values(missing))...)
	for _, l := range found {
		image := proof.MissingImage{Problem: l.Problem}
		if of, ok := parts[[2]string{l.Source, l.Repository}]; ok {
			image.Parts, image.At = of, c.target.InMirror(l.Repository).WithDigest(l.Digest).String()
		} else {
			image.Parts, image.At, image.AtSource = missing[l.Source], l.Source, true
		}
		missingImages = append(missingImages, image)
	}
	return missingImages, nil
}

// partsOf returns the parts of releases that an image is.
func partsOf(kind plan.ImageKind, reasons []plan.Reason) []proof.Part {
	var parts []proof.Part
	for _, b := range reasons {
		if b.Release != "" {
			parts = append(parts, proof.Part{Release: b.Release, Component: b.Name, Disk: kind == plan.BootImage, Signatures: kind == plan.SignatureImage})
		}
	}
	return parts
}
