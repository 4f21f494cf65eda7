package install

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

// assistedService writes the ConfigMap of mirrors and a patch of the AgentServiceConfig, of which only one
// named agent is read. The service requires both keys of the ConfigMap, and the label.
func (w *writer) assistedService() {
	w.yaml("assisted-service/mirror-config.yaml", []string{
		"Fields: https://github.com/openshift/assisted-service/blob/master/docs/operator.md and " + assistedSource,
	}, configMap{"v1", "ConfigMap", objectMeta{assistedConfigMap, assistedNamespace, map[string]string{"app": "assisted-service"}}, map[string]string{
		"ca-bundle.crt": w.ca(), "registries.conf": w.registriesConf(),
	}})
	config := agentServiceConfig{APIVersion: "agent-install.openshift.io/v1beta1", Kind: "AgentServiceConfig", Metadata: objectMeta{Name: "agent"}}
	config.Spec.Mirror.Name = assistedConfigMap
	w.yaml("assisted-service/agent-service-config-patch.yaml", []string{
		"oc patch agentserviceconfig agent --type merge --patch-file agent-service-config-patch.yaml",
		"Fields: " + assistedSource,
		"The service also needs the boot images of the releases from a web server of the site, for each minor version and",
		"architecture. Without osImages, it downloads them from mirror.openshift.com:",
		"  osImages:",
		"  - openshiftVersion: \"4.20\"",
		"    version: the version of the boot image",
		"    url: https://WEBSERVER/rhcos-live-iso.x86_64.iso",
		"    cpuArchitecture: x86_64",
		"openshift-install coreos print-stream-json of the release prints where they are.",
	}, config)
}
