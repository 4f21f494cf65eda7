package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/path"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// pathError adds the channel and its position to the error of a missing path.
func (ch *channel) pathError(err error) error {
	if err == nil {
		return nil
	}
	return inputErrorf("%s: %s: %w", ch.Pos, ch, err)
}

// addPaths adds update paths and the releases on them.
//
// first is the reason for the first release of a path. Of two paths with the same ends, the one
// that was added first stays: it belongs to clusters or to the field from.
func (c *releaseSelection) addPaths(ch *channel, paths []path.Path, first string) {
	for _, p := range paths {
		u := UpdatePath(ch.Product, ch.arch, ch.Name, p)
		if slices.ContainsFunc(c.updates, func(o plan.UpdatePath) bool {
			return o.Product == u.Product && o.Arch == u.Arch && o.Channel == u.Channel && o.From == u.From && o.To == u.To
		}) {
			continue
		}
		c.add(ch, p.Nodes[0], first)
		for _, h := range p.Hops {
			c.add(ch, h.ToNode, reasonPath)
		}
		c.updates = append(c.updates, u)
	}
}

// risks returns the risks of a hop, as the plan lists them.
func risks(h path.Hop) []plan.Risk {
	var out []plan.Risk
	for _, r := range h.Risks {
		risk := plan.Risk{Name: r.Name, Message: r.Message, URL: r.URL, Rules: []plan.RiskRule{}, Accepted: r.Accepted}
		for _, rule := range r.Rules {
			risk.Rules = append(risk.Rules, plan.RiskRule{Type: rule.Type, PromQL: rule.PromQL})
		}
		out = append(out, risk)
	}
	return out
}

// add adds a release. Several channels may have it, with the same payload.
func (c *releaseSelection) add(ch *channel, node int, reason string) {
	n := ch.graph.Nodes[node]
	name := release.Name(n.Version.String(), ch.arch)
	why := plan.ReleaseReason{Reason: reason, Channel: ch.Name}
	i := slices.IndexFunc(c.releases, func(r *chosenRelease) bool { return r.name() == name })
	if i < 0 {
		c.releases = append(c.releases, &chosenRelease{
			product: ch.Product, arch: ch.arch, version: n.Version.String(), source: n.Payload, reasons: []plan.ReleaseReason{why},
		})
		return
	}
	r := c.releases[i]
	if r.source != n.Payload || r.product != ch.Product {
		c.problems = append(c.problems, fmt.Errorf("%s: release %s is %s in channel %s and %s in channel %s: a mirror can contain only one of them; remove one of the channels",
			ch.Pos, name, r.source, r.reasons[0].Channel, n.Payload, ch.Name))
		return
	}
	if !slices.Contains(r.reasons, why) {
		r.reasons = append(r.reasons, why)
	}
}

// sort sorts everything as in a plan.
func (c *releaseSelection) sort() {
	elements.Sort(c.releases, func(a, b *chosenRelease) int { return strings.Compare(a.name(), b.name()) })
	for _, r := range c.releases {
		elements.Sort(r.reasons, func(a, b plan.ReleaseReason) int {
			return cmp.Or(strings.Compare(a.Channel, b.Channel), strings.Compare(a.Reason, b.Reason))
		})
	}
	elements.Sort(c.graphs, func(a, b plan.UpdateGraph) int { return strings.Compare(a.URL, b.URL) })
	c.graphs = slices.Compact(c.graphs) // channels of OKD may share one
	elements.Sort(c.updates, func(a, b plan.UpdatePath) int {
		return cmp.Or(strings.Compare(string(a.Product), string(b.Product)), strings.Compare(string(a.Arch), string(b.Arch)),
			strings.Compare(a.Channel, b.Channel), compareVersions(a.From, b.From), compareVersions(a.To, b.To))
	})
}

func (c *chosenRelease) name() string { return release.Name(c.version, c.arch) }

// warn adds a note that is printed at once, too.
func (c *releaseSelection) warn(text string) {
	c.notes = append(c.notes, text)
	c.warnings = append(c.warnings, text)
}
