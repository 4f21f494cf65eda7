// Package tools finds and extracts the programs that administrators install and manage clusters with:
// oc, openshift-install, oc-mirror and others. They are files in the images of a release, so whatever
// has a release has its tools as well: a registry, a mirror, an archive.
//
//	payload.Payload -> Select -> []Tool -> Extract -> files
//
// The images and paths, and the placeholders in programs that are replaced by the version and the
// image of the release, are those of oc adm release extract
// (https://github.com/openshift/oc/blob/master/pkg/cli/admin/release/extract_tools.go). The bytes
// depend only on the release and on the reference that is written into the installer.
//
// Layers are streamed. Nothing is kept in memory, and a program is passed on while it is read.
package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Tool is a program of a release for one platform.
type Tool struct {
	Name     string               // "oc"
	Platform release.ToolPlatform // where it runs
	// Component is the name of the image of the release that has it, and Path its path there.
	Component, Path string

	program *program
	// arch is the architecture of the image, "" for any: programs for other platforms are the same
	// in the images of all architectures.
	arch release.Arch
}

// File returns a name for the file of the tool of a release: "oc-4.20.5-linux-amd64". An installer
// that runs on another architecture than it installs has both in its name:
// "openshift-install-4.20.5-multi-linux-amd64".
func (t *Tool) File(version string, of release.Arch) string {
	if t.program.required != "" && of != t.Platform.Arch {
		version = release.Name(version, of)
	}
	name := t.Name + "-" + version + "-" + t.Platform.OS + "-" + string(t.Platform.Arch)
	if t.Platform.OS == "windows" {
		name += ".exe"
	}
	return name
}

// A program is a tool for all platforms.
type program struct {
	name string
	// component and path are those for Linux on the architecture of the release.
	component, path string
	// others is the component with the program for other platforms, below /usr/share/openshift, in the
	// folders of each platform.
	others  string
	folders map[string]string // by platform: "linux/amd64"
	// patches are the placeholders in the program.
	patches []placeholder
	// required is the placeholder that must be there, "" for none.
	required string
}

var (
	clients = map[string]string{
		"linux/amd64": "linux_amd64", "linux/arm64": "linux_arm64", "linux/ppc64le": "linux_ppc64le",
		"darwin/amd64": "mac", "darwin/arm64": "mac_arm64", "windows/amd64": "windows",
	}
	linuxClients = map[string]string{
		"linux/amd64": "linux_amd64", "linux/arm64": "linux_arm64", "linux/ppc64le": "linux_ppc64le", "linux/s390x": "linux_s390x",
	}
	installers = map[string]string{
		"linux/amd64": "linux_amd64", "linux/arm64": "linux_arm64",
		"darwin/amd64": "mac", "darwin/arm64": "mac_arm64",
	}
	inClient    = []placeholder{inVersion}
	inInstaller = []placeholder{inImage, inVersion, inArchitecture}
)

// programs are the tools that releases have.
var programs = [...]program{
	{name: "oc", component: "cli", path: "usr/bin/oc", others: "cli-artifacts", folders: clients, patches: inClient},
	{name: "oc.rhel8", others: "cli-artifacts", folders: linuxClients, patches: inClient},
	{name: "oc.rhel9", others: "cli-artifacts", folders: linuxClients, patches: inClient},
	{
		name: "openshift-install", component: "installer", path: "usr/bin/openshift-install", others: "installer-artifacts", folders: installers,
		patches: inInstaller, required: inImage.name,
	},
	{
		name: "openshift-install-fips", component: "baremetal-installer", path: "usr/bin/openshift-install",
		patches: inInstaller, required: inImage.name,
	},
	{name: "oc-mirror", component: "oc-mirror", path: "usr/bin/oc-mirror"},
	{name: "oc-mirror.rhel8", component: "oc-mirror", path: "usr/bin/oc-mirror.rhel8"},
	{name: "oc-mirror.rhel9", component: "oc-mirror", path: "usr/bin/oc-mirror.rhel9"},
	{name: "ccoctl", component: "cloud-credential-operator", path: "usr/bin/ccoctl"},
	{name: "ccoctl.rhel8", component: "cloud-credential-operator", path: "usr/bin/ccoctl.rhel8"},
	{name: "ccoctl.rhel9", component: "cloud-credential-operator", path: "usr/bin/ccoctl.rhel9"},
}

// on returns the tool for a platform in releases of an architecture, false if there is none.
func (p *program) on(platform release.ToolPlatform, of release.Arch) (Tool, bool) {
	t := Tool{Name: p.name, Platform: platform, program: p}
	if p.component != "" && platform.OS == "linux" && (platform.Arch == of || of == release.Multi) {
		t.Component, t.Path, t.arch = p.component, p.path, platform.Arch
		return t, true
	}
	folder, ok := p.folders[platform.String()]
	if !ok {
		return Tool{}, false
	}
	t.Component, t.Path = p.others, "usr/share/openshift/"+folder+"/"+p.name
	if platform.OS == "windows" {
		t.Path += ".exe"
	}
	return t, true
}

// All returns the tools that a release has images for, by name and platform.
func All(p *payload.Payload) []Tool {
	var all []Tool
	for i := range programs {
		for _, platform := range release.ToolPlatforms() {
			if t, ok := programs[i].on(platform, p.Arch); ok && t.Image(p) != nil {
				all = append(all, t)
			}
		}
	}
	return all
}

// Image returns the image of a release that has the tool, nil if there is none.
func (t *Tool) Image(p *payload.Payload) *payload.Component {
	for i := range p.Components {
		if slices.Contains(p.Components[i].Names, t.Component) {
			return &p.Components[i]
		}
	}
	return nil
}

// Select returns the tools with the names for the platforms; without names
// release.DefaultToolNames, and without platforms release.DefaultToolPlatform. A tool that exists for only some of the platforms is returned for those.
// A named tool for none of them, a platform without any of the tools, and a release without the image
// of a named tool are errors. A release without the image of a default tool, such as oc-mirror in OKD,
// is a note.
func Select(p *payload.Payload, names []string, platforms []release.ToolPlatform) (found []Tool, notes []string, err error) {
	named := len(names) > 0
	if !named {
		names = release.DefaultToolNames()
	}
	if len(platforms) == 0 {
		platforms = []release.ToolPlatform{release.DefaultToolPlatform(p.Arch)}
	}
	for i := range programs {
		if !slices.Contains(names, programs[i].name) {
			continue
		}
		exists := false
		for _, platform := range release.ToolPlatforms() {
			if t, ok := programs[i].on(platform, p.Arch); ok && slices.Contains(platforms, platform) {
				exists = true
				if t.Image(p) != nil {
					found = append(found, t)
					continue
				}
				missing := fmt.Sprintf("release %s has no image %q, which would have %s for %s", release.Name(p.Version, p.Arch), t.Component, t.Name, platform)
				if named {
					return nil, nil, advice.New(advice.Input, "leave out the tool, or the platform", "%s", missing)
				}
				notes = append(notes, missing)
			}
		}
		if !exists && named {
			return nil, nil, programs[i].unavailable(platforms, p)
		}
	}
	for _, name := range names {
		if err := release.CheckToolName(name); err != nil {
			return nil, nil, err
		}
	}
	for _, platform := range platforms {
		if !slices.ContainsFunc(found, func(t Tool) bool { return t.Platform == platform }) {
			return nil, nil, advice.New(advice.Input, "leave it out", "release %s has none of the tools %s for %s",
				release.Name(p.Version, p.Arch), strings.Join(names, ", "), platform)
		}
	}
	return found, notes, nil
}

// unavailable returns the error for a tool that exists for none of the platforms.
func (p *program) unavailable(platforms []release.ToolPlatform, of *payload.Payload) error {
	var asked, have []string
	for _, platform := range platforms {
		asked = append(asked, platform.String())
	}
	for _, platform := range release.ToolPlatforms() {
		if _, ok := p.on(platform, of.Arch); ok {
			have = append(have, platform.String())
		}
	}
	return advice.New(advice.Input, "it has the tool for "+strings.Join(have, ", "), "release %s has no %s for %s",
		release.Name(of.Version, of.Arch), p.name, strings.Join(asked, ", "))
}
