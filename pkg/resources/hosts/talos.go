package hosts

import (
	"encoding/base64"

	"github.com/gantry-mirror/gantry/pkg/resources"
)

const (
	talosPatchSource     = "https://www.talos.dev/v1.11/reference/configuration/v1alpha1/config/#Config.machine.registries"
	talosDocumentsSource = "https://docs.siderolabs.com/talos/v1.12/reference/configuration/cri/registrymirrorconfig"
)

// A talosPatch is a patch of the machine configuration, for every version of Talos 1.
type talosPatch struct {
	Machine struct {
		Registries struct {
			Mirrors map[string]talosMirror `yaml:"mirrors"`
			Config  map[string]talosConfig `yaml:"config,omitempty"`
		} `yaml:"registries"`
	} `yaml:"machine"`
}

type talosMirror struct {
	Endpoints    []string `yaml:"endpoints"`
	OverridePath bool     `yaml:"overridePath"`
	SkipFallback bool     `yaml:"skipFallback,omitempty"`
}

type talosConfig struct {
	TLS struct {
		CA string `yaml:"ca"`
	} `yaml:"tls"`
}

// A talosDocument is a document of its own in the machine configuration, since Talos 1.12.
type talosDocument struct {
	APIVersion   string          `yaml:"apiVersion"`
	Kind         string          `yaml:"kind"`
	Name         string          `yaml:"name"`
	Endpoints    []talosEndpoint `yaml:"endpoints,omitempty"`
	SkipFallback bool            `yaml:"skipFallback,omitempty"`
	CA           string          `yaml:"ca,omitempty"`
}

type talosEndpoint struct {
	URL          string `yaml:"url"`
	OverridePath bool   `yaml:"overridePath"`
}

// addTalos writes the mirrors of Talos in both formats. overridePath applies to all endpoints of a
// registry in the older one, so that each address has its whole path.
func addTalos(in Input, registries []registry, add func(string, []byte)) error {
	patch := talosPatch{}
	patch.Machine.Registries.Mirrors = map[string]talosMirror{}
	documents := []byte("# Documents of the machine configuration of Talos 1.12 or newer. Fields: " + talosDocumentsSource + "\n")
	write := func(d talosDocument) error {
		text, err := resources.EncodeYAML(d)
		documents = append(append(documents, "---\n"...), text...)
		return err
	}
	for _, r := range registries {
		if len(r.endpoints) == 0 {
			continue
		}
		blocked := in.blocked() && r.host != in.Host
		old := talosMirror{OverridePath: true, SkipFallback: blocked}
		d := talosDocument{APIVersion: "v1alpha1", Kind: "RegistryMirrorConfig", Name: r.host, SkipFallback: blocked}
		for _, e := range r.endpoints {
			address := in.address(e)
			if e.prefix == "" {
				address += "/v2"
			}
			old.Endpoints = append(old.Endpoints, address)
			d.Endpoints = append(d.Endpoints, talosEndpoint{address, true})
		}
		patch.Machine.Registries.Mirrors[r.host] = old
		if err := write(d); err != nil {
			return err
		}
	}
	if len(patch.Machine.Registries.Mirrors) == 0 {
		return nil
	}
	if len(in.CA) > 0 {
		var c talosConfig
		c.TLS.CA = base64.StdEncoding.EncodeToString(in.CA)
		patch.Machine.Registries.Config = map[string]talosConfig{in.Host: c}
		if err := write(talosDocument{APIVersion: "v1alpha1", Kind: "RegistryTLSConfig", Name: in.Host, CA: string(in.CA)}); err != nil {
			return err
		}
	}
	text, err := resources.EncodeYAML(patch)
	if err != nil {
		return err
	}
	head := "# A patch of the machine configuration, for every Talos 1.x: talosctl patch machineconfig --patch @machine-config-patch.yaml\n# Fields: " + talosPatchSource + "\n"
	add("talos/machine-config-patch.yaml", append([]byte(head), text...))
	add("talos/registry-documents.yaml", documents)
	return nil
}
