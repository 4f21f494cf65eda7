package install

import (
	"fmt"
	"strings"
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
		Mirror localRef `yaml:"mirrorRegistryRef"`
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
	config.Spec.Mirror.Name = assistedConfigMap
	w.yaml("assisted-service/agent-service-config-patch.yaml", append([]string{
		"oc patch agentserviceconfig agent --type merge --patch-file agent-service-config-patch.yaml",
		"Fields: " + assistedSource,
	}, w.osImages()...), config)
}

// osImages returns a comment with the boot images to add. The mirror does not have them, and which web
// server of the site does is unknown.
func (w *writer) osImages() []string {
	lines := []string{
		"The service also needs boot images from a web server of the site. Without osImages, it downloads them from the Internet.",
		"mirror.platform.tools mirrors those of the releases, and gantry pull writes them to a folder. Add this to the spec:",
		"  osImages:",
	}
	seen := map[string]bool{}
	for _, r := range w.releases {
		arch, of := r.Arch, ""
		switch arch {
		case "multi":
			arch, of = "x86_64", "; one entry for each architecture"
		case "aarch64":
			arch = "arm64" // as the service calls it
		}
		minor := strings.Join(strings.SplitN(r.Version, ".", 3)[:2], ".")
		if seen[minor+arch] {
			continue
		}
		seen[minor+arch] = true
		lines = append(lines,
			fmt.Sprintf("  - openshiftVersion: %q", minor),
			"    cpuArchitecture: "+arch,
			"    url: the address of the ISO image of "+r.Version+"-"+r.Arch+" at the site"+of,
			"    version: the version in the name of the image",
		)
	}
	return lines
}
