package build

import (
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/path"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// UpdatePath returns a path that was found in the graph of a channel as plans list it, without acks and blockers.
func UpdatePath(product release.Product, arch release.Arch, channel string, p path.Path) plan.UpdatePath {
	u := plan.UpdatePath{
		Product: product, Arch: arch, Channel: channel,
		From: p.From.String(), To: p.To.String(), Hops: []plan.Hop{},
	}
	for _, h := range p.Hops {
		u.Hops = append(u.Hops, plan.Hop{From: h.From.String(), To: h.To.String(), Risks: risks(h)})
	}
	return u
}
