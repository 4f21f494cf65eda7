package imageset

import (
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/release/tools"
)

// Tools select the tools of releases (mirror.platform.tools). The zero value selects the defaults.
type Tools struct {
	Pos Position
	// Names are those of tools.Names; the default is tools.DefaultNames.
	Names []string
	// Platforms are those of tools.Platforms, "linux/amd64"; the default is the one of each release,
	// tools.DefaultPlatform.
	Platforms []string
}

// toolsField is a field that is true for the defaults, or an object.
func toolsField() field[Releases] {
	object := toolsObject()
	s := object.shape()
	s.Description = "Provide the tools of the releases: true for oc, openshift-install and oc-mirror, or an object."
	s.Type = append([]string{"boolean"}, s.Type...)
	return field[Releases]{
		name: "tools",
		read: func(r *reader, n *yaml.Node, path string, into *Releases) {
			if yes, ok := truth(resolve(n)); ok {
				if yes {
					into.Tools = &Tools{Pos: r.position(n)}
				}
				return
			}
			if resolve(n).Kind != yaml.MappingNode {
				r.fault(path, "found "+describe(n)+", expected true, false or a mapping", "")
				return
			}
			into.Tools = &Tools{}
			object.read(r, n, path, &into.Tools.Pos, into.Tools)
		},
		write: func(from *Releases) []byte {
			if from.Tools == nil {
				return nil
			}
			if b := written(object.encode(from.Tools)); b != nil {
				return b
			}
			return []byte("true")
		},
		shape: s,
	}
}

func toolsObject() object[Tools] {
	var platforms []string
	for _, p := range tools.Platforms() {
		platforms = append(platforms, p.String())
	}
	return object[Tools]{
		fields: []field[Tools]{
			names("names", "The names of the tools. The default is oc, openshift-install and oc-mirror.",
				func(t *Tools) *[]string { return &t.Names }, oneOf("tool", tools.Names(), map[string]string{"kubectl": "oc", "openshift-baremetal-install": "openshift-install-fips"})),
			names("platforms", "The platforms on which the tools run. The default is Linux on the architecture of the release.",
				func(t *Tools) *[]string { return &t.Platforms }, oneOf("platform", platforms,
					map[string]string{"mac/amd64": "darwin/amd64", "mac/arm64": "darwin/arm64", "linux/x86_64": "linux/amd64", "linux/aarch64": "linux/arm64"})),
		},
	}
}
