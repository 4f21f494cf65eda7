package install

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

const (
	assistedSource    = "https://github.com/openshift/assisted-service/blob/master/api/v1beta1/agentserviceconfig_types.go"
	assistedNamespace = "multicluster-engine"
	assistedConfigMap = "assisted-installer-mirror-config"
)

type agentServiceConfig struct {
	APIVersion string     `yaml:"apiVersion"`
	Kind       string     `yaml:"kind"`
	Metadata   objectMeta `yaml:"metadata"`
	Spec       struct {
		Mirror   *localRef `yaml:"mirrorRegistryRef,omitempty"`
		OSImages []osImage `yaml:"osImages,omitempty"`
	} `yaml:"spec"`
}

// assistedService writes the ConfigMap of mirrors and a patch of the AgentServiceConfig. The service
// only reads the one named agent. The service requires both keys of the ConfigMap, and the label.
func (w *writer) assistedService() {
	w.yaml("assisted-service/mirror-config.yaml", []string{
		"Fields: https://github.com/openshift/assisted-service/blob/master/docs/operator.md and " + assistedSource,
	}, configMap{"v1", "ConfigMap", objectMeta{assistedConfigMap, assistedNamespace, map[string]string{"app": "assisted-service"}}, map[string]string{
		"ca-bundle.crt": w.ca(), "registries.conf": w.registriesConf(),
	}})
	config := agentServiceConfig{APIVersion: "agent-install.openshift.io/v1beta1", Kind: "AgentServiceConfig", Metadata: objectMeta{Name: "agent"}}
	config.Spec.Mirror = &localRef{assistedConfigMap}
	const patch = "oc patch agentserviceconfig agent --type merge --patch-file "
	images, missing := w.osImages()
	w.yaml("assisted-service/agent-service-config-patch.yaml", slices.Concat([]string{patch + "agent-service-config-patch.yaml", "Fields: " + assistedSource}, missing), config)
	if len(images) == 0 {
		return
	}
	config.Spec.Mirror, config.Spec.OSImages = nil, images
	w.yaml("assisted-service/os-images-patch.yaml", slices.Concat([]string{
		"Write the ISO images to the folder of a web server of the site, with gantry get or gantry archive extract --files:",
	}, indented(isoFiles(images)), []string{
		"Replace " + webServer + " by its address, then run:",
		"  " + patch + "os-images-patch.yaml",
		"The patch replaces all osImages. The image service needs 2 GiB of storage for each entry. rootFSUrl is ignored since it is deprecated.",
		"Fields: " + assistedSource,
	}), config)
}

// webServer stands for the address of the web server with the ISO images, which the mirror does not know.
const webServer = "https://web-server.example"

// isoFiles returns the names of the files of images, sorted.
func isoFiles(images []osImage) (names []string) {
	names = elements.Map(images, func(i osImage) string { return path.Base(i.URL) })
	slices.Sort(names)
	return slices.Compact(names)
}

func indented(lines []string) (all []string) {
	return elements.Map(lines, func(line string) string { return "  " + line })
}

// An osImage is an ISO image for the clusters of one minor version.
type osImage struct {
	OpenShiftVersion string `yaml:"openshiftVersion"`
	CPUArchitecture  string `yaml:"cpuArchitecture"`
	URL              string `yaml:"url"`
	Version          string `yaml:"version"`
}

// cpuArchitecture returns an architecture as the service calls it.
func cpuArchitecture(arch string) string {
	if arch == "aarch64" {
		return "arm64"
	}
	return arch
}

// osImages returns the ISO images of the newest release of each minor version that has some in the mirror, and a
// comment about releases without any.
func (w *writer) osImages() (images []osImage, missing []string) {
	type key struct{ minor, arch string }
	seen := map[key]bool{}
	minorOf := func(r Release) string { return strings.Join(strings.SplitN(r.Version, ".", 3)[:2], ".") }
	for _, r := range w.releases {
		for _, iso := range r.LiveISOs {
			at := key{minorOf(r), cpuArchitecture(iso.Arch)}
			if seen[at] {
				continue
			}
			seen[at] = true
			images = append(images, osImage{at.minor, at.arch, webServer + "/" + iso.File, cmp.Or(iso.Build, r.Version)})
		}
	}
	for _, r := range w.releases {
		arch, of := cpuArchitecture(r.Arch), ""
		if arch == "multi" {
			arch, of = "x86_64", "; one entry for each architecture"
		}
		at := key{minorOf(r), arch}
		if seen[at] {
			continue
		}
		seen[at] = true
		if missing == nil {
			missing = []string{
				"The service also needs boot images from a web server of the site. Without osImages, it downloads them from the Internet.",
				"mirror.platform.tools mirrors those of the releases, and the next run writes os-images-patch.yaml. Or add this to the spec:",
				"  osImages:",
			}
		}
		missing = append(missing,
			fmt.Sprintf("  - openshiftVersion: %q", at.minor),
			"    cpuArchitecture: "+at.arch,
			"    url: the address of the ISO image of "+r.Version+"-"+r.Arch+" at the site"+of,
			"    version: the version in the name of the image",
		)
	}
	return images, missing
}
