package payload

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/image"
)

// Contents are the files of a release image in the folder release-manifests.
type Contents struct {
	// References and Metadata are the files image-references and release-metadata.
	References, Metadata []byte
	// Manifests are the objects in the other files, in the order in which the operator applies them.
	Manifests []Manifest
}

// A Manifest is an object that the cluster version operator applies.
type Manifest struct {
	// File is the name of its file, without folder. A file may contain several objects.
	File                              string
	APIVersion, Kind, Namespace, Name string
	Annotations                       map[string]string
	// Text is the object as YAML or JSON.
	Text []byte
}

// ReadContents is Read, and also returns all files of the release image: usually 20 to 30 MB.
func ReadContents(ctx context.Context, src image.Reader, source string, d digest.Digest) (*Payload, *Contents, error) {
	p, files, err := reader{src, source}.payload(ctx, d, complete)
	var c *Contents
	if err == nil {
		c, err = files.contents()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading release image %s: %w", named(source, d), err)
	}
	return p, c, nil
}

func (f *releaseFiles) contents() (*Contents, error) {
	c := &Contents{References: f.references, Metadata: f.metadata}
	for _, file := range f.manifests {
		err := eachObject(file.text, func(o object, text []byte) error {
			if o.Kind == "" && o.APIVersion == "" && o.Metadata.Name == "" {
				return nil // only comments
			}
			c.Manifests = append(c.Manifests, Manifest{
				File: path.Base(file.name), APIVersion: o.APIVersion, Kind: o.Kind,
				Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Annotations: o.Metadata.Annotations, Text: text,
			})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading /%s: %w", file.name, err)
		}
	}
	return c, nil
}

// IsCredentialsRequest reports whether a manifest requests credentials of a cloud provider.
func (m *Manifest) IsCredentialsRequest() bool {
	return m.Kind == "CredentialsRequest" && strings.HasPrefix(m.APIVersion, "cloudcredential.openshift.io/")
}

// clouds are the cloud providers, with the kind of their credentials (oc, pkg/cli/admin/release).
var clouds = [...]struct{ name, kind string }{
	{"alibabacloud", "AlibabaCloudProviderSpec"},
	{"aws", "AWSProviderSpec"},
	{"azure", "AzureProviderSpec"},
	{"gcp", "GCPProviderSpec"},
	{"ibmcloud", "IBMCloudProviderSpec"},
	{"nutanix", "NutanixProviderSpec"},
	{"openstack", "OpenStackProviderSpec"},
	{"ovirt", "OvirtProviderSpec"},
	{"powervs", "IBMCloudPowerVSProviderSpec"},
	{"vsphere", "VSphereProviderSpec"},
}

// Clouds returns the names of the cloud providers for which releases request credentials.
func Clouds() []string {
	var names []string
	for _, c := range clouds {
		names = append(names, c.name)
	}
	return names
}

// Cloud returns the cloud provider of a CredentialsRequest: one of Clouds, or the kind of its
// credentials if that is none of theirs.
func (m *Manifest) Cloud() (string, error) {
	var request struct {
		Spec struct {
			ProviderSpec struct {
				Kind string `json:"kind"`
			} `json:"providerSpec"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(m.Text, &request); err != nil {
		return "", fmt.Errorf("reading %s: CredentialsRequest %s: %w", m.File, m.Name, err)
	}
	kind := request.Spec.ProviderSpec.Kind
	for _, c := range clouds {
		if c.kind == kind {
			return c.name, nil
		}
	}
	return kind, nil
}
