package payload

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// The ConfigMap of boot images.
const (
	bootNamespace = "openshift-machine-config-operator"
	bootName      = "coreos-bootimages"
	streamKey     = "stream"
)

// A stream is the part of the metadata of a CoreOS stream that is read.
type stream struct {
	Architectures map[string]streamArch `json:"architectures"`
}

type streamArch struct {
	Images struct {
		KubeVirt *containerImage `json:"kubevirt,omitempty"`
	} `json:"images"`
}

type containerImage struct {
	DigestRef string `json:"digest-ref"`
}

// KubeVirt returns the container disks from which KubeVirt boots machines of this release, by
// architecture, as references by digest. They are not components, and most architectures have none.
func (p *Payload) KubeVirt() (map[release.Arch]string, error) {
	if p.BootImages == nil {
		return nil, nil
	}
	images, err := parseBootImages(p.BootImages)
	if err != nil {
		return nil, fmt.Errorf("reading the boot images of release %s in /%s: %w", p.Version, bootFile, err)
	}
	return images, nil
}

// parseBootImages parses the ConfigMap.
func parseBootImages(text []byte) (map[release.Arch]string, error) {
	images := map[release.Arch]string{}
	err := eachStream(text, func(stream []byte) error { return parseStream(stream, images) })
	return images, err
}

// eachStream calls read with the metadata of the stream in the ConfigMap.
func eachStream(text []byte, read func([]byte) error) error {
	return eachObject(text, func(o object, text []byte) error {
		if !o.isConfigMap(bootNamespace, bootName) {
			return nil
		}
		var c configMap
		if err := yaml.Unmarshal(text, &c); err != nil {
			return err
		}
		if c.Data[streamKey] == "" {
			return fmt.Errorf("ConfigMap %s has no data.%s", bootName, streamKey)
		}
		if err := read([]byte(c.Data[streamKey])); err != nil {
			return fmt.Errorf("data.%s: %w", streamKey, err)
		}
		return nil
	})
}

// parseStream adds the images that the metadata of a stream names.
func parseStream(text []byte, images map[release.Arch]string) error {
	var s stream
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	for name, a := range s.Architectures {
		if a.Images.KubeVirt == nil || a.Images.KubeVirt.DigestRef == "" {
			continue
		}
		ref, err := pinned(a.Images.KubeVirt.DigestRef)
		if err != nil {
			return fmt.Errorf("architecture %.200q: %w", name, err)
		}
		arch, err := release.ParseArch(name)
		if err != nil {
			if !reference.IsTag(name) { // it becomes part of a tag
				return err
			}
			arch = release.Arch(name)
		}
		if old, ok := images[arch]; ok && old != ref.String() {
			return fmt.Errorf("architecture %s occurs twice", arch)
		}
		images[arch] = ref.String()
	}
	return nil
}
