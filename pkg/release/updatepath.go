package release

import (
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// A Signature is a signature of a release payload: an OpenPGP message, as signature stores publish
// it. Clusters verify it again.
type Signature struct {
	// Digest is the digest of the signed manifest.
	Digest digest.Digest `json:"digest"`
	Body   []byte        `json:"body"`
}

// An UpdatePath leads clusters from one version to the target version of a channel.
type UpdatePath struct {
	Product Product `json:"product"`
	Arch    Arch    `json:"arch"`
	// Channel is the channel that clusters set to be offered the hops.
	Channel string `json:"channel"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Hops are the updates in order. They are empty if From equals To.
	Hops []Hop `json:"hops"`
}

// Versions returns every version on the path, From first.
func (u UpdatePath) Versions() []string {
	all := []string{u.From}
	for _, h := range u.Hops {
		all = append(all, h.To)
	}
	return all
}

// Passes reports whether a version is on the path.
func (u UpdatePath) Passes(version string) bool { return slices.Contains(u.Versions(), version) }

// A Hop is one update of a path.
type Hop struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Risks are the risks of a conditional update. They are empty if the update is recommended to
	// every cluster.
	Risks []Risk `json:"risks,omitempty"`
	// Acks are the gates that an administrator has to acknowledge before an update to the next
	// minor version.
	Acks []Ack `json:"acks,omitempty"`
	// Blockers are the operators that have no bundle in the plan that runs on the minor version of
	// To.
	Blockers []Blocker `json:"blockers,omitempty"`
}

// NextMinor reports whether the hop leads to another minor version.
func (h Hop) NextMinor() bool { return Minor(h.From) != Minor(h.To) }

// Minor returns "4.18" of "4.18.3".
func Minor(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	number, _, _ := strings.Cut(rest, ".")
	return major + "." + number
}

// A Risk is a reason why an update is not recommended to some clusters.
type Risk struct {
	Name    string     `json:"name"`
	Message string     `json:"message"`
	URL     string     `json:"url,omitempty"`
	Rules   []RiskRule `json:"rules"`
	// Accepted reports whether the configuration accepts the risk by name.
	Accepted bool `json:"accepted,omitempty"`
}

// Always reports whether the risk applies to every cluster, as graph.Risk.Always does.
func (r Risk) Always() bool { return len(r.Rules) > 0 && r.Rules[0].Type == "Always" }

// A RiskRule is "Always", or "PromQL" with the query that reports whether the risk applies to a
// cluster.
type RiskRule struct {
	Type   string `json:"type"`
	PromQL string `json:"promql,omitempty"`
}

// An Ack is a gate of the release that a hop starts from: a key that has to be set to "true" in
// ConfigMap admin-acks, and its explanation.
type Ack struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// A Blocker is an operator that keeps clusters from the next minor version. Max is the newest minor
// version that one of its bundles in the plan allows (olm.maxOpenShiftVersion).
type Blocker struct {
	Catalog string `json:"catalog"`
	Package string `json:"package"`
	Bundle  string `json:"bundle"`
	Max     string `json:"max"`
}
