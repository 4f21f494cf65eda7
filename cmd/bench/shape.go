package main

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A preset is a workload with a name.
type preset struct {
	shape registrytest.Shape
	// room is about how many bytes a round needs at most: for the source, the destination, and a
	// tool's archive that shares nothing.
	room int64
	// many means that there are thousands of images. Tools that copy images one by one are then
	// left out, unless a flag names them.
	many bool
}

// presets returns workloads with few or many, large or small images.
func presets() map[string]preset {
	return map[string]preset{
		"small": {room: 1 << 30, shape: registrytest.Shape{
			Packages: 5, Bundles: 3, Operands: 6, Bases: 3, LayersLeast: 3, LayersMost: 6,
			BaseSize: 800_000, LayerSize: 420_000, Indexes: 20, Signed: 30, Changed: 60,
		}},
		"medium": {room: 10 << 30, shape: registrytest.Shape{
			Packages: 14, Bundles: 4, Operands: 6, Bases: 5, LayersLeast: 3, LayersMost: 6,
			BaseSize: 5_000_000, LayerSize: 2_900_000, Indexes: 15, Signed: 20, Changed: 60,
		}},
		"many-small": {room: 3 << 30, many: true, shape: registrytest.Shape{
			Packages: 67, Bundles: 10, Operands: 6, Bases: 4, LayersLeast: 3, LayersMost: 4,
			BaseSize: 40_000, LayerSize: 32_000, Indexes: 0, Signed: 8, Changed: 100,
		}},
	}
}

func shapeOf(name string) (preset, error) {
	p, ok := presets()[name]
	if !ok {
		return p, fmt.Errorf("unknown workload %q; the workloads are small, medium and many-small", name)
	}
	return p, nil
}
