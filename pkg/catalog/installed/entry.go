package installed

import (
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// Of returns an entry of mirror.operators[].installed as an operator that a generation of OLM installed. Its Entry is
// the same one, without the line.
func Of(in imageset.Installed, generation graph.Generation) Operator {
	o := Operator{Generation: generation, Package: in.Package, Bundle: in.Bundle, Version: in.Version, Origin: in.Pos.String(), file: in.Pos.File}
	if in.Channel != "" {
		o.Channels = []string{in.Channel}
	}
	return o
}
