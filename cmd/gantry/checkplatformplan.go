package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/release/proof"
	"github.com/gantry-mirror/gantry/plan"
)

// prove holds the mirror to a plan: its releases have to be whole, and its hops to be
// offered.
func (c *platformCheck) prove(ctx context.Context, p *plan.Plan) error {
	lacking, err := c.lacking(ctx, p)
	if err != nil {
		return err
	}
	for _, r := range p.Releases {
		unsigned, err := c.unsigned(r)
		if err != nil {
			return err
		}
		c.addRelease(provedRelease{Name: r.Name(), Digest: r.Digest, Problems: append(lacking[r.Name()], unsigned...)})
	}
	switch image := c.target.Name(plan.GraphRepository).WithTag(graphTag).String(); {
	case c.mirror.Data != nil || c.report.GraphData != "":
	case p.GraphData != nil:
		c.addProblem(platformProblem{Problem: "the image of graph data is not there, without which no update service answers", At: image, Hint: "mirror again to bring it"})
	default:
		c.note(fmt.Sprintf("there is no graph data (%s), so that no update service can answer from this mirror: hops are held to what the releases tell, and risks are those of the plan", image))
	}
	if err := c.readKeys(ctx, p.Updates); err != nil {
		return err
	}
	for _, u := range p.Updates {
		c.addUpdate(p.Name, u)
	}
	return nil
}

// addUpdate proves one path.
func (c *platformCheck) addUpdate(name string, u plan.UpdatePath) {
	wanted := proof.Update{Channel: u.Channel, Arch: u.Arch}
	for _, h := range u.Hops {
		hop := proof.Hop{From: h.From, To: h.To}
		for _, r := range h.Risks {
			hop.Risks = append(hop.Risks, r.Name)
		}
		wanted.Hops = append(wanted.Hops, hop)
	}
	proved := provedUpdate{Plan: name, Channel: u.Channel, Arch: string(u.Arch), From: u.From, To: u.To, Hops: []provedHop{}}
	for _, v := range c.mirror.Prove(wanted) {
		hop := provedHop{From: v.From, To: v.To, Risks: v.Found}
		if c.mirror.Data == nil {
			hop.Risks = v.Risks
		}
		if v.Problem != "" {
			hop.Problems = append(hop.Problems, platformProblem{Problem: v.Problem, Hint: v.Hint})
		}
		hop.Problems = append(hop.Problems, c.refused(v.Hop, u.Arch)...)
		proved.Hops = append(proved.Hops, hop)
	}
	c.report.Updates = append(c.report.Updates, proved)
}

// lacking is what the mirror does not have of each release of a plan, by their
// names.
func (c *platformCheck) lacking(ctx context.Context, p *plan.Plan) (map[string][]platformProblem, error) {
	part := *p
	part.Catalogs = nil
	part.Images = slices.DeleteFunc(slices.Clone(p.Images), func(img plan.Image) bool { return !ofRelease(img.Because) })
	part.Missing = slices.DeleteFunc(slices.Clone(p.Missing), func(m plan.Missing) bool { return !ofRelease(m.Because) })
	sink, err := c.target.sink(p)
	if err != nil {
		return nil, err
	}
	lacks, err := mirror.Verify(ctx, &part, sink, mirror.Options{Streams: c.target.streams, Log: c.log})
	if err != nil {
		return nil, err
	}
	all := map[string][]platformProblem{}
	for _, l := range lacks {
		problem := platformProblem{At: l.Source, Hint: "make the plan again when it is there"}
		var kind plan.ImageKind
		var because []plan.Because
		if i := slices.IndexFunc(part.Images, func(img plan.Image) bool { return img.Source == l.Source && img.Repository == l.Repository }); i >= 0 {
			kind, because = part.Images[i].Kind, part.Images[i].Because
			problem.At, problem.Hint = c.target.names[l.Repository].WithDigest(l.Digest).String(), "mirror again to bring it"
		} else if i := slices.IndexFunc(part.Missing, func(m plan.Missing) bool { return m.Source == l.Source }); i >= 0 {
			kind, because = part.Missing[i].Kind, part.Missing[i].Because
		}
		for _, b := range because {
			problem.Problem = partName(kind, b) + ": " + l.Problem
			all[b.Release] = append(all[b.Release], problem)
		}
	}
	return all, nil
}

func ofRelease(because []plan.Because) bool {
	return slices.ContainsFunc(because, func(b plan.Because) bool { return b.Release != "" })
}

// partName is what a part of a release is called.
func partName(kind plan.ImageKind, b plan.Because) string {
	name := "release image"
	switch {
	case kind == plan.BootImage:
		name = "disk image " + b.Name
	case b.Name != "":
		name = "component " + b.Name
	}
	if kind == plan.SignatureImage {
		return "signatures of " + name
	}
	return name
}

// addRelease enters what was found of a release, once.
func (c *platformCheck) addRelease(r provedRelease) {
	i := slices.IndexFunc(c.report.Releases, func(o provedRelease) bool { return o.Name == r.Name && o.Digest == r.Digest })
	if i < 0 {
		c.report.Releases = append(c.report.Releases, r)
		return
	}
	have := &c.report.Releases[i]
	for _, p := range r.Problems {
		if !slices.Contains(have.Problems, p) {
			have.Problems = append(have.Problems, p)
		}
	}
}

func (c *platformCheck) addProblem(p platformProblem) {
	if !slices.Contains(c.report.Problems, p) {
		c.report.Problems = append(c.report.Problems, p)
	}
}

func (c *platformCheck) note(text string) {
	if !slices.Contains(c.report.Notes, text) {
		c.report.Notes = append(c.report.Notes, text)
	}
}
