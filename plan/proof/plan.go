package proof

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A Plan is what a mirror is compared with: its releases must be complete, and its updates offered
// and accepted.
type Plan struct {
	Name     string
	Releases []plan.Release
	Updates  []Update
	// GraphData reports whether the plan has a graph data image.
	GraphData bool
	// Missing are the images of the releases that the mirror does not have.
	Missing []MissingImage
	// Notes are what the plan says of what it leaves out of releases.
	Notes []string
}

// A MissingImage is an image that a mirror does not have as it was planned.
type MissingImage struct {
	Problem string
	// At is the reference in the mirror. If AtSource is set, the image was already missing at its
	// source, and At is the reference there.
	At       string
	AtSource bool
	// Hint is what to do, if it is not to mirror again.
	Hint string
	// Parts are the parts of releases that the image is.
	Parts []Part
}

// A Part is one image of a release.
type Part struct {
	Release string
	// Component is the name of the component. It is empty for the release image.
	Component string
	// Disk marks an image that machines boot from, Signatures an image that holds the signatures of
	// the part.
	Disk, Signatures bool
}

func (p Part) String() string {
	name := "release image"
	switch {
	case p.Disk:
		name = "disk image " + p.Component
	case p.Component != "":
		name = "component " + p.Component
	}
	if p.Signatures {
		return "signatures of " + name
	}
	return name
}

// Plan compares the mirror with a plan.
func (c *Check) Plan(ctx context.Context, p Plan) error {
	for _, note := range p.Notes {
		c.report.note(note)
	}
	missing := map[string][]Problem{} // by release
	for _, m := range p.Missing {
		hint := cmp.Or(m.Hint, mirrorAgain)
		if m.AtSource {
			hint = "make the plan again when the source has it"
		}
		for _, part := range m.Parts {
			missing[part.Release] = append(missing[part.Release], Problem{Problem: part.String() + ": " + m.Problem, At: m.At, Hint: hint})
		}
	}
	for _, r := range p.Releases {
		unsigned, err := c.checkPlannedSignatures(r)
		if err != nil {
			return err
		}
		c.report.addRelease(ReleaseReport{Name: r.Name(), Digest: r.Digest, Problems: append(missing[r.Name()], unsigned...)})
	}
	switch {
	case c.mirror.Data != nil || c.report.GraphData != "":
	case p.GraphData:
		c.report.addProblem(Problem{Problem: "the graph data image is missing; update services do not work without it", At: c.graphDataTag(), Hint: mirrorAgain})
	default:
		c.report.note(fmt.Sprintf("the mirror has no graph data (%s): no update service can use this mirror; hops were compared with the updates that the releases declare, and risks come from the plan", c.graphDataTag()))
	}
	if err := c.readKeys(ctx, p.Updates); err != nil {
		return err
	}
	for _, u := range p.Updates {
		proved := UpdateReport{Plan: p.Name, Channel: u.Channel, Arch: string(u.Arch), From: u.From, To: u.To, Hops: []HopReport{}}
		for _, v := range c.mirror.Prove(u) {
			hop := HopReport{From: v.From, To: v.To, Risks: v.Found}
			if c.mirror.Data == nil {
				hop.Risks = v.Risks
			}
			if v.Problem != "" {
				hop.Problems = append(hop.Problems, Problem{Problem: v.Problem, Hint: v.Hint})
			}
			hop.Problems = append(hop.Problems, c.rejections(v.From, v.To, u.Arch)...)
			proved.Hops = append(proved.Hops, hop)
		}
		c.report.Updates = append(c.report.Updates, proved)
	}
	return nil
}
