package main

import (
	"context"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/release/proof"
	"github.com/gantry-mirror/gantry/plan"
)

// planned is what the mirror is held to by a plan, and what it lacks of the releases.
func (c *platformCheck) planned(ctx context.Context, p *plan.Plan) (proof.Plan, error) {
	out := proof.Plan{Name: p.Name, GraphData: p.GraphData != nil}
	for _, r := range p.Releases {
		planned := proof.Planned{Product: r.Product, Version: r.Version, Arch: r.Arch, Digest: r.Digest, Unverified: r.Unverified}
		for _, s := range r.Signatures {
			planned.Signatures = append(planned.Signatures, proof.Signature(s))
		}
		out.Releases = append(out.Releases, planned)
	}
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
	var err error
	out.Lacks, err = c.lacks(ctx, p.OfReleases())
	return out, err
}

// lacks is what the mirror does not have of a plan that holds nothing but releases.
func (c *platformCheck) lacks(ctx context.Context, p *plan.Plan) ([]proof.Lack, error) {
	sink, err := c.target.sink(p)
	if err != nil {
		return nil, err
	}
	found, err := mirror.Verify(ctx, p, sink, mirror.Options{Streams: c.target.streams, Log: c.log})
	if err != nil {
		return nil, err
	}
	parts := map[[2]string][]proof.Part{} // by source, and repository in the mirror
	for _, img := range p.Images {
		parts[[2]string{img.Source, img.Repository}] = partsOf(img.Kind, img.Because)
	}
	missing := map[string][]proof.Part{}
	for _, m := range p.Missing {
		missing[m.Source] = partsOf(m.Kind, m.Because)
	}
	var lacks []proof.Lack
	for _, l := range found {
		lack := proof.Lack{Problem: l.Problem}
		if of, ok := parts[[2]string{l.Source, l.Repository}]; ok {
			lack.Parts, lack.At = of, c.target.names[l.Repository].WithDigest(l.Digest).String()
		} else {
			lack.Parts, lack.At, lack.AtSource = missing[l.Source], l.Source, true
		}
		lacks = append(lacks, lack)
	}
	return lacks, nil
}

// partsOf is what an image is, of each release that has it.
func partsOf(kind plan.ImageKind, because []plan.Because) []proof.Part {
	var parts []proof.Part
	for _, b := range because {
		if b.Release != "" {
			parts = append(parts, proof.Part{Release: b.Release, Component: b.Name, Disk: kind == plan.BootImage, Signatures: kind == plan.SignatureImage})
		}
	}
	return parts
}
