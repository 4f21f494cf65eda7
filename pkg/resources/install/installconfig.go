package install

import "github.com/gantry-mirror/gantry/pkg/resources"

const (
	installConfigSource = "https://github.com/openshift/installer/blob/main/pkg/types/installconfig.go"
	agentSource         = "https://github.com/openshift/installer/tree/main/pkg/asset/agent/mirror"
)

type installConfig struct {
	Digests []digestSource `yaml:"imageDigestSources,omitempty"`
	// Contents is the name of Digests before 4.14. It has no policies.
	Contents []digestSource `yaml:"imageContentSources,omitempty"`
	CA       string         `yaml:"additionalTrustBundle,omitempty"`
}

// installConfigs writes the fields to add to install-config.yaml, which the agent-based installer reads, too.
func (w *writer) installConfigs() {
	setPolicy := func(d *digestSource, policy string) { d.Policy = policy }
	var hint []string
	if len(w.in.CA) == 0 {
		hint = caHint
	}
	w.yaml("install-config.yaml", append([]string{
		"Add this to install-config.yaml, for openshift-install 4.14 or newer. Fields: " + installConfigSource,
	}, hint...), installConfig{Digests: w.withPolicies(w.digestSources(), setPolicy), CA: string(w.in.CA)})
	w.yaml("install-config-before-4.14.yaml", append([]string{
		"Add this to install-config.yaml, for openshift-install 4.13 or older. Fields: " + installConfigSource,
	}, hint...), installConfig{Contents: w.digestSources(), CA: string(w.in.CA)})
}

// agent writes the folder that openshift-install agent reads beside manifests of zero touch provisioning. With
// install-config.yaml, it makes these files itself.
func (w *writer) agent() {
	w.text("agent/mirror/registries.conf", comments([]string{"Copy the folder mirror beside cluster-manifests. Read by openshift-install agent: " + agentSource})+"\n"+w.registriesConf())
	if len(w.in.CA) > 0 {
		w.text("agent/mirror/ca-bundle.crt", string(w.in.CA))
	}
}

func (w *writer) registriesConf() string {
	return string(resources.RegistriesConf(w.in.Mirrors, w.in.PlainHTTP))
}
