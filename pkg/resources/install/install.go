// Package install writes what the installers of OpenShift need to install a cluster from a mirror.
//
// Its input is what the mirror has: the sources of mirror sets, and platform releases. Its output is a
// folder with fragments of configurations, patches and manifests:
//
//	README.md                      what to use where
//	install-config.yaml            openshift-install 4.14 or newer
//	install-config-before-4.14.yaml
//	agent/mirror/...               the agent-based installer with manifests of its own
//	assisted-service/...           the assisted service: multicluster engine, Advanced Cluster Management
//	cluster-image-sets/...         a ClusterImageSet for each release
//	hosted-cluster/...             hosted control planes
//	image-based/...                image-based installations
//	microshift/...                 MicroShift
//
// All have the sources and mirrors of the mirror sets, so that the nodes of a new cluster do not change
// when the mirror sets are applied to it. Each file names where its fields are documented. There are no
// secrets: the only certificates are the public ones of the mirror's issuer, if they were given.
package install

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// Input is what the files are made from.
type Input struct {
	// Host is the mirror: "mirror.example.com:5000".
	Host string
	// Mirrors are the sources of the mirror sets.
	Mirrors []resources.SourceMirrors
	// Releases are the platform releases of the mirror. Without them, only files for MicroShift are written.
	Releases []Release
	// CA has the certificates of the mirror's issuer as PEM. If it is empty, the files say where it belongs.
	CA []byte
	// PlainHTTP is set for a mirror without TLS.
	PlainHTTP bool
}

// A Release is a platform release in the mirror.
type Release struct {
	Version string
	// Arch is its architecture as in names of releases: "x86_64", "multi".
	Arch string
	// Image is the payload in the mirror. It needs a digest.
	Image reference.Reference
	// LiveISOs are its ISO images among the files of the mirror.
	LiveISOs []LiveISO
}

// A LiveISO is the ISO image that machines boot from to install a release.
type LiveISO struct {
	// Arch is the architecture as in names of releases: "x86_64", "aarch64".
	Arch string
	// File is its name in the mirror, and Build the version of CoreOS.
	File, Build string
}

// Build returns the files, sorted by name, and notes about what the files cannot say. Names of files contain
// folders. Without a source that can be redirected, there are no files.
func Build(in Input) (files []resources.File, notes []string, err error) {
	if len(in.Mirrors) == 0 {
		return nil, nil, nil
	}
	releases, err := sortReleases(in.Releases)
	if err != nil {
		return nil, nil, err
	}
	w := &writer{in: in, releases: releases}
	w.microShift()
	if len(releases) > 0 {
		w.installConfigs()
		w.agent()
		w.assistedService()
		w.clusterImageSets()
		w.hostedCluster()
		w.imageBased()
	}
	w.readme()
	if w.err != nil {
		return nil, nil, w.err
	}
	elements.Sort(w.files, func(a, b resources.File) int { return strings.Compare(a.Name, b.Name) })
	return w.files, w.notes, nil
}

// caPlaceholder stands for the certificates of the mirror's issuer in a file that must have some. Text
// around PEM blocks is ignored.
const caPlaceholder = "# Replace this line by the certificate of the CA that signed the mirror's certificate, as PEM.\n"

// caHint is a comment for fields of certificates that are left out.
var caHint = []string{
	"additionalTrustBundle: |",
	"  -----BEGIN CERTIFICATE-----",
	"  The certificate of the CA that signed the mirror's certificate. Leave it out if the machines trust it anyway.",
	"  -----END CERTIFICATE-----",
}

type objectMeta struct {
	Name      string            `yaml:"name"`
	Namespace string            `yaml:"namespace,omitempty"`
	Labels    map[string]string `yaml:"labels,omitempty"`
}

type configMap struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   objectMeta        `yaml:"metadata"`
	Data       map[string]string `yaml:"data"`
}

// A localRef names another object.
type localRef struct {
	Name string `yaml:"name"`
}
