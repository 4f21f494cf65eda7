package plan

import (
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Release is one platform release: its payload, and why it is mirrored. Its image has the kind
// ReleaseImage. The images of its components have Reasons with the name of the release.
type Release struct {
	Product release.Product `json:"product"`
	Version string          `json:"version"`
	Arch    release.Arch    `json:"arch"`
	// Source is the payload by digest, as in the update graph or the configuration. Digest is its
	// digest.
	Source string        `json:"source"`
	Digest digest.Digest `json:"digest"`
	// Repository and Tag identify the payload in the mirror.
	Repository string `json:"repository"`
	Tag        string `json:"tag"`
	// Reasons are why the configuration selects it.
	Reasons []ReleaseReason `json:"reasons"`
	// URL is the address of the erratum; usually set.
	URL string `json:"url,omitempty"`
	// Signatures are the signatures of the payload and, for a multi payload, of its children. Each
	// was verified when the plan was made.
	Signatures []Signature `json:"signatures,omitempty"`
	// Tools are programs in the images of the release that the configuration asks for, sorted by File.
	// They are extracted from these images where they are needed.
	Tools []Tool `json:"tools,omitempty"`
	// LiveISOs are the ISO images of the release among Files, sorted by architecture.
	LiveISOs []LiveISO `json:"liveISOs,omitempty"`
	// Unverified reports whether the signatures were not verified, as requested.
	Unverified bool `json:"unverified,omitempty"`
}

// Name returns the name of the release, which is also its tag: "4.20.5-x86_64".
func (r Release) Name() string { return release.Name(r.Version, r.Arch) }

// ToolsList is Reason.List of boot images, whose Reason.Name is their kind: "metal/iso".
const ToolsList = "platform.tools"

// A Tool is a program in an image of a release.
type Tool struct {
	Name     string `json:"name"`     // "oc"
	Platform string `json:"platform"` // where it runs, "linux/amd64"
	// File is the name of its file, "oc-4.20.5-linux-amd64".
	File string `json:"file"`
}

// OwnSignatures returns the signatures of the payload itself, without those of its children.
func (r Release) OwnSignatures() [][]byte {
	var bodies [][]byte
	for _, s := range r.Signatures {
		if s.Digest == r.Digest {
			bodies = append(bodies, s.Body)
		}
	}
	return bodies
}

// OnlyReleases returns the plan without catalogs and without images that belong to no release. The
// image of graph data belongs to no release.
func (p *Plan) OnlyReleases() *Plan {
	of := func(because []Reason) bool {
		return slices.ContainsFunc(because, func(b Reason) bool { return b.Release != "" })
	}
	part := *p
	part.Catalogs, part.Charts, part.Files = nil, nil, nil
	part.Images = slices.DeleteFunc(slices.Clone(p.Images), func(img Image) bool { return !of(img.Reasons) })
	part.Missing = slices.DeleteFunc(slices.Clone(p.Missing), func(m Missing) bool { return !of(m.Reasons) })
	return &part
}

// A ReleaseReason is why a release is in the plan. Reason is head, range, full, path, from (a
// cluster runs it) or release (the configuration names it). Channel is the channel that contains
// it, "" for release.
type ReleaseReason struct {
	Reason  string `json:"reason"`
	Channel string `json:"channel,omitempty"`
}

type (
	// LiveISO is the ISO image that machines boot from to install a release.
	LiveISO = release.LiveISO
	// Signature is shared, like the types below, with lists of releases and the records of mirrors.
	Signature = release.Signature
	// UpdatePath is a path through an update graph.
	UpdatePath = release.UpdatePath
	// Hop is one update of a path.
	Hop = release.Hop
	// Risk is a reason why an update is not recommended to some clusters.
	Risk = release.Risk
	// RiskRule decides to which clusters a risk applies.
	RiskRule = release.RiskRule
	// Ack is a gate that an administrator has to acknowledge.
	Ack = release.Ack
	// Blocker is an operator that keeps clusters from the next minor version.
	Blocker = release.Blocker
)

// GraphData is the update graph data that an update service in the disconnected site needs besides
// the payloads, and the image that contains it.
type GraphData struct {
	// Source is where the data was read, without credentials. SHA256 is the digest of the data.
	Source string        `json:"source"`
	SHA256 digest.Digest `json:"sha256"`
	// Base is the image that the graph data image is built on. If it is for one architecture,
	// MoreBases are those for others.
	Base       string        `json:"base"`
	MoreBases  []string      `json:"moreBases,omitempty"`
	Digest     digest.Digest `json:"digest"`
	Repository string        `json:"repository"`
	Tag        string        `json:"tag"`
}

// The repositories of platform releases in a mirror, as oc mirror uses them.
const (
	ReleaseRepository   = "openshift/release-images"
	ComponentRepository = "openshift/release"
	GraphRepository     = "openshift/graph-image"
)

// An UpdateGraph identifies an update graph as it was when the plan was made.
type UpdateGraph struct {
	// URL is its address, without credentials. SHA256 is the digest of the response.
	URL    string        `json:"url"`
	SHA256 digest.Digest `json:"sha256"`
}
