package main

import "fmt"

// A preset is a workload with a name.
type preset struct {
	shape shape
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
		"small": {room: 1 << 30, shape: shape{
			packages: 5, bundles: 3, operands: 6, bases: 3, layersLeast: 3, layersMost: 6,
			baseSize: 800_000, layerSize: 420_000, indexes: 20, signed: 30, changed: 60,
		}},
		"medium": {room: 10 << 30, shape: shape{
			packages: 14, bundles: 4, operands: 6, bases: 5, layersLeast: 3, layersMost: 6,
			baseSize: 5_000_000, layerSize: 2_900_000, indexes: 15, signed: 20, changed: 60,
		}},
		"many-small": {room: 3 << 30, many: true, shape: shape{
			packages: 67, bundles: 10, operands: 6, bases: 4, layersLeast: 3, layersMost: 4,
			baseSize: 40_000, layerSize: 32_000, indexes: 0, signed: 8, changed: 100,
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
