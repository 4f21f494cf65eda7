package imageset

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// Tools select the tools and boot images of releases (mirror.platform.tools).
type Tools struct {
	Pos Position
	// Names are those of release.ToolNames; the default is release.DefaultToolNames.
	Names []string
	// Platforms are those of release.ToolPlatforms, "linux/amd64"; the default is the one of each release,
	// release.DefaultToolPlatform.
	Platforms []string
	// BootImages are kinds of boot images, "metal/iso", as releases name them. The default is none.
	BootImages []string
}

// defaultBootImages are those of `tools: true`.
const defaultBootImages = "metal/iso"

// toolsField is a field that is true for the defaults, or an object.
func toolsField() field[Releases] {
	object := toolsObject()
	s := object.shape()
	s.Description = "Tools and boot images of the releases: true for oc, openshift-install, oc-mirror and metal/iso, or an object."
	s.Type = append([]string{"boolean"}, s.Type...)
	return field[Releases]{
		name: "tools",
		read: func(r *reader, n *yaml.Node, path string, into *Releases) {
			if yes, ok := truth(resolve(n)); ok {
				if yes {
					into.Tools = &Tools{Pos: r.position(n), BootImages: []string{defaultBootImages}}
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
			if t := from.Tools; len(t.Names)+len(t.Platforms) == 0 && slices.Equal(t.BootImages, []string{defaultBootImages}) {
				return []byte("true")
			}
			return object.encode(from.Tools)
		},
		shape: s,
	}
}

func toolsObject() object[Tools] {
	platforms := elements.Map(release.ToolPlatforms(), func(p release.ToolPlatform) string { return p.String() })
	return object[Tools]{
		fields: []field[Tools]{
			names("names", "The names of the tools. The default is oc, openshift-install and oc-mirror.",
				func(t *Tools) *[]string { return &t.Names }, oneOf("tool", release.ToolNames(), map[string]string{"kubectl": "oc", "openshift-baremetal-install": "openshift-install-fips"})),
			names("platforms", "The platforms on which the tools run. The default is Linux on the architecture of the release.",
				func(t *Tools) *[]string { return &t.Platforms }, oneOf("platform", platforms,
					map[string]string{"mac/amd64": "darwin/amd64", "mac/arm64": "darwin/arm64", "linux/x86_64": "linux/amd64", "linux/aarch64": "linux/arm64"})),
			names("bootImages", "The boot images of CoreOS to mirror as files, by platform and format. The default is none.",
				func(t *Tools) *[]string { return &t.BootImages }, bootImageKind()),
		},
	}
}

const bootImagePattern = `^[A-Za-z0-9][A-Za-z0-9._+-]*/[A-Za-z0-9][A-Za-z0-9._+-]*$`

var bootImageKinds = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(bootImagePattern) })

// bootImageKind is the grammar of the platform and format of a boot image.
func bootImageKind() grammar {
	return grammar{max: 255, pattern: bootImagePattern, check: func(s string) (string, string) {
		if bootImageKinds().MatchString(s) {
			return "", ""
		}
		return quote(s) + " is not a boot image", fmt.Sprintf("write platform and format, such as %q", defaultBootImages)
	}}
}
