package plan

import (
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/path"
)

// NewUpdatePath is a path that was found in the graph of a channel, as plans have
// it. Nobody has said yet what is to be acknowledged on it and which operators block
// it.
func NewUpdatePath(product release.Product, arch release.Arch, channel string, p path.Path) UpdatePath {
	u := UpdatePath{
		Product: product, Arch: arch, Channel: channel,
		From: p.From.String(), To: p.To.String(), Hops: []Hop{},
	}
	for _, h := range p.Hops {
		u.Hops = append(u.Hops, Hop{From: h.From.String(), To: h.To.String(), Risks: risks(h)})
	}
	return u
}
