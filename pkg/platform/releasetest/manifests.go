package releasetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

type object = map[string]any

// An imageStream is the format of image-references (image.openshift.io/v1).
type imageStream struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		Name        string            `json:"name"`
		Created     time.Time         `json:"creationTimestamp"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		LookupPolicy struct {
			Local bool `json:"local"`
		} `json:"lookupPolicy"`
		Tags []streamTag `json:"tags"`
	} `json:"spec"`
	Status struct {
		Repository string `json:"dockerImageRepository"`
	} `json:"status"`
}

type streamTag struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
	From        struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"from"`
	Generation   *int64   `json:"generation"`
	ImportPolicy struct{} `json:"importPolicy"`
	Reference    struct {
		Type string `json:"type"`
	} `json:"referencePolicy"`
}

// imageReferences returns the file image-references of a payload.
func imageReferences(p *Payload) ([]byte, error) {
	var s imageStream
	s.Kind, s.APIVersion = "ImageStream", "image.openshift.io/v1"
	s.Metadata.Name, s.Metadata.Created = p.Version, published
	s.Metadata.Annotations = map[string]string{
		"release.openshift.io/from-image-stream": "ocp/art-latest",
		"release.openshift.io/from-release":      "registry.example.com/ocp/release:" + p.Version + "-nightly",
	}
	for _, name := range slices.Sorted(maps.Keys(p.Images)) {
		var t streamTag
		t.Name = name
		t.Annotations = map[string]string{
			"io.openshift.build.commit.id":       p.Images[name].Encoded()[:40],
			"io.openshift.build.commit.ref":      "",
			"io.openshift.build.source-location": "https://git.example.com/openshift/" + name,
		}
		if strings.HasPrefix(name, "rhel-coreos") || name == "machine-os-content" {
			t.Annotations["io.openshift.build.versions"] = "machine-os=" + p.Version
			t.Annotations["io.openshift.build.version-display-names"] = "machine-os=Red Hat Enterprise Linux CoreOS"
		}
		if name == "hyperkube" {
			t.Annotations["io.openshift.build.versions"] = "kubernetes=" + Kubernetes(p.Version)
		}
		t.From.Kind, t.From.Name = "DockerImage", p.Content+"@"+p.Images[name].String()
		s.Spec.Tags = append(s.Spec.Tags, t)
	}
	return json.MarshalIndent(s, "", "  ")
}

// Kubernetes returns the version of Kubernetes in the component hyperkube of a release: "1.33.5" for
// "4.20.5".
func Kubernetes(version string) string {
	var minor, patch int
	_, _ = fmt.Sscanf(version, "4.%d.%d", &minor, &patch) // other versions have none in reality either
	return fmt.Sprintf("1.%d.%d", minor+13, patch)
}

// architectureKey is the metadata key that marks a payload for all architectures.
const architectureKey = "release.openshift.io/architecture"

// metadata returns the metadata in release-metadata.
func (p *Payload) metadata() map[string]string {
	all := map[string]string{}
	if p.URL != "" {
		all["url"] = p.URL
	}
	if p.Arch == release.Multi {
		all[architectureKey] = "multi"
	}
	maps.Copy(all, p.Metadata)
	return all
}

func releaseMetadata(p *Payload) ([]byte, error) {
	return json.MarshalIndent(struct {
		Kind     string            `json:"kind"`
		Version  string            `json:"version"`
		Previous []string          `json:"previous"`
		Next     []string          `json:"next,omitempty"`
		Metadata map[string]string `json:"metadata"`
	}{"cincinnati-metadata-v0", p.Version, append([]string{}, p.Previous...), p.Next, p.metadata()}, "", "  ")
}

// manifests returns the layer of a release image on top of the version operator: the folder, the
// files that describe the release, and the manifests of its operators.
func (w *Platform) manifests(p *Payload) ([]registrytest.File, error) {
	const dir = "release-manifests/"
	files := []registrytest.File{{Name: dir, Mode: 0o777}}
	add := func(name string, text []byte, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, registrytest.File{Name: dir + name, Data: text, Mode: 0o444})
		return nil
	}
	references, err := imageReferences(p)
	if err := add("image-references", references, err); err != nil {
		return nil, err
	}
	metadata, err := releaseMetadata(p)
	if err := add("release-metadata", metadata, err); err != nil {
		return nil, err
	}
	operators := map[string]object{
		"0000_30_config-operator_00_namespace.yaml": {
			"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "openshift-config"},
		},
	}
	if !p.Flaws.NoKeys {
		operators["0000_90_cluster-update-keys_configmap.yaml"] = configMap("release-verification", "openshift-config-managed",
			map[string]string{"release.openshift.io/verification-config-map": ""},
			map[string]string{"store-test": w.definition.Store, "verifier-public-key-test": string(w.Keys.OpenPGP)})
	}
	if p.Sigstore {
		operators["0000_90_openshift-cluster-image-policy.yaml"] = object{
			"apiVersion": "config.openshift.io/v1", "kind": "ClusterImagePolicy", "metadata": object{"name": "openshift"},
			"spec": object{
				"scopes": []string{p.Repository, p.Content},
				"policy": object{"rootOfTrust": object{"policyType": "PublicKey", "publicKey": object{"keyData": w.Keys.Policy}}},
			},
		}
	}
	if len(p.BootImages)+len(p.BootFiles) > 0 {
		stream, err := json.MarshalIndent(w.bootImages(p), "", "  ")
		if err != nil {
			return nil, err
		}
		operators["0000_50_installer_coreos-bootimages.yaml"] = configMap("coreos-bootimages", "openshift-machine-config-operator", nil,
			map[string]string{"releaseVersion": p.Version, "stream": string(stream)})
	}
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		text, err := yaml.Marshal(operators[name])
		if err := add(name, text, err); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Manifests)) {
		if err := add(name, []byte(p.Manifests[name]), nil); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// bootImages returns a CoreOS stream with the KubeVirt disks. Architectures without a disk are in
// it too.
func (w *Platform) bootImages(p *Payload) object {
	architectures := object{}
	for _, arch := range release.Arches() {
		if arch == release.Multi {
			continue
		}
		images := object{}
		if d, ok := p.BootImages[arch]; ok {
			images[kubevirt] = object{
				"release": p.Version, "image": p.Content + ":" + p.Version + "-" + kubevirt, "digest-ref": p.Content + "@" + d.String(),
			}
		}
		architectures[arch.Suffix()] = object{"images": images}
		if files := w.bootFiles(p, arch); len(files) > 0 {
			architectures[arch.Suffix()] = object{"images": images, "artifacts": files}
		}
	}
	return object{"stream": "rhcos-" + p.Version, "metadata": object{"last-modified": published}, "architectures": architectures}
}

// operatorManifests returns the manifests of the version operator itself, which are in its own
// layer.
func operatorManifests(p *Payload) []registrytest.File {
	files := []registrytest.File{{Name: "manifests/"}}
	if len(p.Gates) == 0 {
		return files
	}
	text, _ := yaml.Marshal(configMap("admin-gates", "openshift-config-managed", nil, p.Gates)) // marshaling strings does not fail
	return append(files, registrytest.File{Name: "manifests/0000_00_cluster-version-operator_01_admingate_configmap.yaml", Data: text})
}

func configMap(name, namespace string, annotations, data map[string]string) object {
	metadata := object{"name": name, "namespace": namespace}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
}
