package resources

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

const (
	// updateServiceName is the name that `oc mirror` uses. A site that switches from oc mirror
	// therefore keeps its update service and its address. The operator makes a host name of name
	// and namespace, with at most 63 characters; the namespace leaves 32 for the name.
	updateServiceName      = "update-service-oc-mirror"
	updateServiceNamespace = "openshift-update-service"
	updateServiceReplicas  = 2

	signatureNamespace = "openshift-config-managed"
	// signatureLabel marks the ConfigMaps that the cluster-version operator reads.
	signatureLabel = "release.openshift.io/verification-signatures"
)

// A Platform is what a mirror contains of platform releases.
type Platform struct {
	// Signatures are those of the payloads. For a payload with several architectures, they are
	// those of the index and of its images.
	Signatures []Signed
	// Releases is the repository of the mirror with a tag for each release. GraphData is the image
	// of graph data, with its digest: if it had only a tag, the operator would start it as a pod to
	// look for newer images. If either has no host, no update service is written.
	Releases, GraphData reference.Reference
	// Suffix is part of the name of the update service, as with Options.Suffix.
	Suffix string
}

// Signed is an image with its OpenPGP signatures as published, in numerical order.
type Signed struct {
	Digest     digest.Digest
	Signatures [][]byte
}

// BuildPlatform returns the manifests, in addition to the mirror sets, that clusters need to update
// from a mirror without Internet access, sorted by name:
//
//	signature-sha256-….json         ConfigMap: the signatures of one image, with
//	                                the names that `oc adm release mirror` gives
//	update-service-oc-mirror.yaml   UpdateService: the releases and their graph
//
// It fails if an image has no signature, if an image is given twice with different signatures, or
// if the graph data has no digest.
func BuildPlatform(p Platform) ([]File, error) {
	signed, err := sortSigned(p.Signatures)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, s := range signed {
		file, err := signatureConfigMap(s)
		if err != nil {
			return nil, err
		}
		if n := len(files); n > 0 && files[n-1].Name == file.Name {
			return nil, fmt.Errorf("writing %s: the digests of two images begin alike", file.Name)
		}
		files = append(files, file)
	}
	if p.Releases.Host == "" || p.GraphData.Host == "" {
		return files, nil
	}
	file, err := updateService(p)
	return append(files, file), err // its name comes after "signature-"
}

// SignatureTree returns signatures as a folder for a web server. Clusters read it if its address is
// in the signatureStores of their ClusterVersion. The names are paths below folder:
// "signatures/sha256=<hex>/signature-1". The files are not manifests.
func SignatureTree(folder string, all []Signed) ([]File, error) {
	signed, err := sortSigned(all)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, s := range signed {
		for i, body := range s.Signatures {
			files = append(files, File{Name: path.Join(folder, release.SignaturePath(s.Digest, i+1)), Text: body})
		}
	}
	return files, nil
}

// GraphName returns the name of the file with the update graph of a channel:
// "graph-stable-4.20-amd64.json". A cluster without an update service can use the graph as its
// upstream. The file is not a manifest and must be kept apart from the manifests.
func GraphName(channel string, arch release.Arch) string {
	return "graph-" + channel + "-" + string(arch) + ".json"
}

// sortSigned sorts by digest and removes duplicates.
func sortSigned(all []Signed) ([]Signed, error) {
	sorted := elements.Sorted(slices.Values(all), func(a, b Signed) int { return strings.Compare(a.Digest.String(), b.Digest.String()) })
	var unique []Signed
	for _, s := range sorted {
		if err := s.Digest.Validate(); err != nil || s.Digest.Algorithm() != digest.SHA256 {
			return nil, fmt.Errorf("writing signatures: %q is not a sha256 digest", s.Digest)
		}
		if len(s.Signatures) == 0 {
			return nil, fmt.Errorf("writing the signatures of %s: none given", s.Digest)
		}
		if n := len(unique); n > 0 && unique[n-1].Digest == s.Digest {
			if !slices.EqualFunc(unique[n-1].Signatures, s.Signatures, slices.Equal) {
				return nil, fmt.Errorf("writing the signatures of %s: they are given twice and differ", s.Digest)
			}
			continue
		}
		unique = append(unique, s)
	}
	return unique, nil
}

// A configMap is a ConfigMap with its fields in the usual order.
type configMap struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	BinaryData map[string][]byte `json:"binaryData"`
}

// signatureConfigMap returns the ConfigMap of one image. The cluster-version operator reads all
// keys that begin with the digest.
func signatureConfigMap(s Signed) (File, error) {
	name := s.Digest.Algorithm().String() + "-" + s.Digest.Encoded()
	m := configMap{APIVersion: "v1", Kind: "ConfigMap", BinaryData: map[string][]byte{}}
	m.Metadata.Name, m.Metadata.Namespace = name, signatureNamespace
	m.Metadata.Labels = map[string]string{signatureLabel: ""}
	for i, body := range s.Signatures {
		if len(body) == 0 {
			return File{}, fmt.Errorf("writing the signatures of %s: number %d is empty", s.Digest, i+1)
		}
		m.BinaryData[name+"-"+strconv.Itoa(i+1)] = body
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return File{}, fmt.Errorf("writing the signatures of %s: %w", s.Digest, err)
	}
	if len(text) > defaultMaxBytes {
		return File{}, fmt.Errorf("writing the signatures of %s: they take %d bytes, the limit of `oc apply` is %d", s.Digest, len(text), defaultMaxBytes)
	}
	return File{Name: SignatureFile(s.Digest), Text: append(text, '\n')}, nil
}

// An updateServiceManifest is an UpdateService
// (updateservice.operator.openshift.io/v1).
type updateServiceManifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name      string `yaml:"name"`
		Namespace string `yaml:"namespace"`
	} `yaml:"metadata"`
	Spec struct {
		Replicas       int    `yaml:"replicas"`
		Releases       string `yaml:"releases"`
		GraphDataImage string `yaml:"graphDataImage"`
	} `yaml:"spec"`
}

// updateService returns the UpdateService.
func updateService(p Platform) (File, error) {
	name := serviceName(p.Suffix)
	if p.GraphData.Digest == "" {
		return File{}, fmt.Errorf("writing %s: the digest of the graph data %s is unknown", name, p.GraphData)
	}
	m := updateServiceManifest{APIVersion: "updateservice.operator.openshift.io/v1", Kind: "UpdateService"}
	m.Metadata.Name, m.Metadata.Namespace = name, updateServiceNamespace
	m.Spec.Replicas = updateServiceReplicas
	m.Spec.Releases = p.Releases.Name()
	m.Spec.GraphDataImage = p.GraphData.WithDigest(p.GraphData.Digest).String()
	text, err := encode(m)
	if err != nil {
		return File{}, fmt.Errorf("writing %s: %w", name, err)
	}
	return File{Name: name + ".yaml", Text: text}, nil
}
