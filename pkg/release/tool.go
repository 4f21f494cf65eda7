package release

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
)

// ToolNames returns the names of the programs that releases have for administrators.
func ToolNames() []string {
	return []string{
		"oc", "oc.rhel8", "oc.rhel9", "openshift-install", "openshift-install-fips",
		"oc-mirror", "oc-mirror.rhel8", "oc-mirror.rhel9", "ccoctl", "ccoctl.rhel8", "ccoctl.rhel9",
	}
}

// DefaultToolNames returns the tools that a disconnected site needs.
func DefaultToolNames() []string { return []string{"oc", "openshift-install", "oc-mirror"} }

// CheckToolName returns an error unless a tool has the name.
func CheckToolName(name string) error {
	names := ToolNames()
	if slices.Contains(names, name) {
		return nil
	}
	return advice.New(advice.Input, cmp.Or(suggest.Phrase(name, names), "the tools are "+strings.Join(names, ", ")), "there is no tool %q", name)
}

// A ToolPlatform is an operating system with an architecture that tools run on, by the names of Go.
type ToolPlatform struct {
	OS   string
	Arch Arch
}

// String returns "linux/amd64".
func (p ToolPlatform) String() string { return p.OS + "/" + string(p.Arch) }

// ToolPlatforms returns the platforms that tools exist for, sorted by their names.
func ToolPlatforms() []ToolPlatform {
	return []ToolPlatform{
		{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}, {"linux", "ppc64le"}, {"linux", "s390x"}, {"windows", "amd64"},
	}
}

// ParseToolPlatform parses "linux/amd64". It accepts mac for darwin, and the names of architectures in Linux.
func ParseToolPlatform(text string) (ToolPlatform, error) {
	system, arch, ok := strings.Cut(text, "/")
	if system == "mac" {
		system = "darwin"
	}
	p := ToolPlatform{OS: system, Arch: Arch(arch)}
	if a, err := ParseArch(arch); err == nil {
		p.Arch = a
	}
	var names []string
	for _, known := range ToolPlatforms() {
		if ok && known == p {
			return p, nil
		}
		names = append(names, known.String())
	}
	return ToolPlatform{}, advice.New(advice.Input, cmp.Or(suggest.Phrase(text, names), "the platforms are "+strings.Join(names, ", ")), "there are no tools for platform %q", text)
}

// DefaultToolPlatform returns Linux on the architecture of a release; for several architectures on amd64.
func DefaultToolPlatform(arch Arch) ToolPlatform {
	if arch == Multi {
		arch = DefaultArch
	}
	return ToolPlatform{OS: "linux", Arch: arch}
}
