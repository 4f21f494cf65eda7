package main

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A preset is a workload that has a name.
type preset struct {
	shape registrytest.Shape
	// room is about what a round of it needs at most, in bytes: source,
	// destination, and a tool's archive without any sharing.
	room int64
	// many says that there are thousands of images, which a tool that takes one
	// after the other is not asked for unless it is named.
	many bool
}

// presets are few or many images, and large or small ones.
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
		return p, fmt.Errorf("there is no workload %q; there are small, medium and many-small", name)
	}
	return p, nil
}
