package proof

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Plan is what a mirror is held to: its releases have to be whole, and its updates to
// be offered and accepted.
type Plan struct {
	Name     string
	Releases []Planned
	Updates  []Update
	// GraphData is set where an image of graph data was planned.
	GraphData bool
	// Lacks are the images of the releases that the mirror does not have.
	Lacks []Lack
}

// A Planned is a release that a plan has.
type Planned struct {
	Product release.Product
	Version string
	Arch    release.Arch
	Digest  digest.Digest
	// Signatures are those of the release image and, for a release for several
	// architectures, of its single images.
	Signatures []Signature
	// Unverified says that nobody asked for signatures.
	Unverified bool
}

func (r Planned) name() string { return release.Name(r.Version, r.Arch) }

// A Signature is an OpenPGP message that signs an image.
type Signature struct {
	Digest digest.Digest
	Body   []byte
}

// A Lack is an image that a mirror does not have as it was planned.
type Lack struct {
	Problem string
	// At is the place where it should be, or its source where AtSource says that it
	// was missing there already.
	At       string
	AtSource bool
	// Parts are what the image is, of each release.
	Parts []Part
}

// A Part is one image of a release.
type Part struct {
	Release string
	// Component is the name of it; "" is the release image.
	Component string
	// Disk says that machines are started from it, Signatures that it holds the
	// signatures of the part.
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

// Plan holds the mirror to a plan.
func (c *Check) Plan(ctx context.Context, p Plan) error {
	lacking := map[string][]Problem{} // by release
	for _, l := range p.Lacks {
		hint := bringIt
		if l.AtSource {
			hint = "make the plan again when it is there"
		}
		for _, part := range l.Parts {
			lacking[part.Release] = append(lacking[part.Release], Problem{Problem: part.String() + ": " + l.Problem, At: l.At, Hint: hint})
		}
	}
	for _, r := range p.Releases {
		unsigned, err := c.unsigned(r)
		if err != nil {
			return err
		}
		c.report.addRelease(ReleaseReport{Name: r.name(), Digest: r.Digest, Problems: append(lacking[r.name()], unsigned...)})
	}
	switch {
	case c.mirror.Data != nil || c.report.GraphData != "":
	case p.GraphData:
		c.report.addProblem(Problem{Problem: "the image of graph data is not there, without which no update service answers", At: c.newestData(), Hint: bringIt})
	default:
		c.report.note(fmt.Sprintf("there is no graph data (%s), so that no update service can answer from this mirror: hops are held to what the releases tell, and risks are those of the plan", c.newestData()))
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
			hop.Problems = append(hop.Problems, c.refused(v.From, v.To, u.Arch)...)
			proved.Hops = append(proved.Hops, hop)
		}
		c.report.Updates = append(c.report.Updates, proved)
	}
	return nil
}
