package hosts

import (
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// A registriesYAML is the configuration of registries of K3s and RKE2.
type registriesYAML struct {
	Mirrors map[string]k3sMirror `yaml:"mirrors"`
	Configs map[string]k3sConfig `yaml:"configs,omitempty"`
}

type k3sMirror struct {
	Endpoint []string          `yaml:"endpoint"`
	Rewrite  map[string]string `yaml:"rewrite,omitempty"`
}

type k3sConfig struct {
	TLS k3sTLS `yaml:"tls"`
}

type k3sTLS struct {
	CAFile string `yaml:"ca_file"`
}

// addK3s writes registries.yaml for K3s and RKE2, which differ in their folders. If nodes may not pull
// from the sources, a file of config.yaml.d turns the default endpoints off.
func addK3s(in Input, registries []registry, add func(string, []byte)) error {
	for _, d := range []struct{ name, title, source string }{
		{"k3s", "K3s", "https://docs.k3s.io/installation/private-registry"},
		{"rke2", "RKE2", "https://docs.rke2.io/install/private_registry"},
	} {
		etc := "/etc/rancher/" + d.name + "/"
		config := registriesYAML{Mirrors: map[string]k3sMirror{}}
		for _, r := range registries {
			m := k3sMirror{Endpoint: []string{in.url()}}
			for _, rule := range r.rules {
				if m.Rewrite == nil {
					m.Rewrite = map[string]string{}
				}
				m.Rewrite[rule.pattern] = rule.replacement
			}
			config.Mirrors[r.host] = m
		}
		if len(in.CA) > 0 {
			add(d.name+"/mirror-ca.crt", in.CA)
			config.Configs = map[string]k3sConfig{in.Host: {k3sTLS{etc + "mirror-ca.crt"}}}
		}
		text, err := resources.EncodeYAML(config)
		if err != nil {
			return err
		}
		head := "# Copy to " + etc + "registries.yaml on every node, and restart " + d.title + ". Fields: " + d.source + "\n"
		add(d.name+"/registries.yaml", append([]byte(head), text...))
		if in.blocked() {
			add(d.name+"/config.yaml.d/mirror.yaml", []byte("# Copy to "+etc+"config.yaml.d/mirror.yaml: registries of registries.yaml are not contacted themselves.\n"+
				"# Fields: "+d.source+"\ndisable-default-registry-endpoint: true\n"))
		}
	}
	return nil
}
