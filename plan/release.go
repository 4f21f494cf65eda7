package plan

import (
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
)

// A Release is one platform release: its payload, and why it is mirrored. Its
// image is that of kind ReleaseImage, the components are those whose Because
// names the release.
type Release struct {
	Product release.Product `json:"product"`
	Version string          `json:"version"`
	Arch    release.Arch    `json:"arch"`
	// Source is the payload as the update graph or the configuration has it, by
	// digest; Digest is its digest.
	Source string        `json:"source"`
	Digest digest.Digest `json:"digest"`
	// Repository and Tag name the payload in the mirror.
	Repository string `json:"repository"`
	Tag        string `json:"tag"`
	// Reasons are the wishes of the configuration that chose it.
	Reasons []ReleaseReason `json:"reasons"`
	// URL is the erratum; mostly set.
	URL string `json:"url,omitempty"`
	// Signatures are those of the payload and, for a multi payload, of its
	// children, each verified when the plan was made.
	Signatures []Signature `json:"signatures,omitempty"`
	// Unverified says that nobody asked for signatures (--ignore-release-signature).
	Unverified bool `json:"unverified,omitempty"`
}

// Name is what the release is called, and its tag: "4.20.5-x86_64".
func (r Release) Name() string { return release.Name(r.Version, r.Arch) }

// OwnSignatures are those of the payload itself, without those of its children.
func (r Release) OwnSignatures() [][]byte {
	var bodies [][]byte
	for _, s := range r.Signatures {
		if s.Digest == r.Digest {
			bodies = append(bodies, s.Body)
		}
	}
	return bodies
}

// OfReleases is the plan without what is of no release: catalogs, and images that no
// release has. The image of graph data is none of a release.
func (p *Plan) OfReleases() *Plan {
	of := func(because []Because) bool {
		return slices.ContainsFunc(because, func(b Because) bool { return b.Release != "" })
	}
	part := *p
	part.Catalogs = nil
	part.Images = slices.DeleteFunc(slices.Clone(p.Images), func(img Image) bool { return !of(img.Because) })
	part.Missing = slices.DeleteFunc(slices.Clone(p.Missing), func(m Missing) bool { return !of(m.Because) })
	return &part
}

// A ReleaseReason is why a release is in the plan: Reason is head, range, full,
// path, from (a cluster runs it) or release (it was named); Channel is the channel
// that has it, "" for the last.
type ReleaseReason struct {
	Reason  string `json:"reason"`
	Channel string `json:"channel,omitempty"`
}

// A Signature is a signature of a payload, an OpenPGP message as the stores have
// it. The mirror's clusters verify it again.
type Signature struct {
	// Digest is what is signed.
	Digest digest.Digest `json:"digest"`
	Body   []byte        `json:"body"`
}

// An UpdatePath leads clusters of one version to the target of a channel. Every
// release on it is in the plan.
type UpdatePath struct {
	Product release.Product `json:"product"`
	Arch    release.Arch    `json:"arch"`
	// Channel is what clusters set to be offered the hops.
	Channel string `json:"channel"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Hops are empty where From is To.
	Hops []Hop `json:"hops"`
}

// A Hop is one update of a path.
type Hop struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Risks are those of a conditional update; none where it is recommended to
	// everybody.
	Risks []Risk `json:"risks,omitempty"`
	// Acks are the gates that an administrator has to acknowledge before a hop to
	// the next minor version.
	Acks []Ack `json:"acks,omitempty"`
	// Blockers are operators of which the plan has no bundle that runs on the
	// minor version that the hop leads to.
	Blockers []Blocker `json:"blockers,omitempty"`
}

// NextMinor reports whether the hop leads to another minor version.
func (h Hop) NextMinor() bool { return minorOf(h.From) != minorOf(h.To) }

// A Risk is why an update is not recommended to some clusters.
type Risk struct {
	Name    string     `json:"name"`
	Message string     `json:"message"`
	URL     string     `json:"url,omitempty"`
	Rules   []RiskRule `json:"rules"`
	// Accepted says that the configuration accepts the risk by name.
	Accepted bool `json:"accepted,omitempty"`
}

// Always reports whether the risk is one for every cluster, as graph.Risk does.
func (r Risk) Always() bool { return len(r.Rules) > 0 && r.Rules[0].Type == graph.Always }

// A RiskRule is "Always", or "PromQL" with the query that says where a risk
// applies.
type RiskRule struct {
	Type   string `json:"type"`
	PromQL string `json:"promql,omitempty"`
}

// An Ack is a gate of the release that a hop leads away from: the key that has to
// be set to "true" in ConfigMap admin-acks, and what it says.
type Ack struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// A Blocker is an operator that keeps clusters from the next minor version: the
// newest that one of its bundles in the plan allows (olm.maxOpenShiftVersion).
type Blocker struct {
	Catalog string `json:"catalog"`
	Package string `json:"package"`
	Bundle  string `json:"bundle"`
	Max     string `json:"max"`
}

// GraphData is the update graph data that an update service in the closed site
// needs beside the payloads, and the image that carries it.
type GraphData struct {
	// Source is where the data came from, without credentials; SHA256 is the
	// digest of what was read there.
	Source string        `json:"source"`
	SHA256 digest.Digest `json:"sha256"`
	// Base is the image that the other stands on. Where that is for one architecture,
	// MoreBases are those for others.
	Base       string        `json:"base"`
	MoreBases  []string      `json:"moreBases,omitempty"`
	Digest     digest.Digest `json:"digest"`
	Repository string        `json:"repository"`
	Tag        string        `json:"tag"`
}

// The places of platform releases in a mirror, as oc mirror has them.
const (
	ReleaseRepository   = "openshift/release-images"
	ComponentRepository = "openshift/release"
	GraphRepository     = "openshift/graph-image"
)
