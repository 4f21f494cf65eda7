// Package hosts writes the files that make container runtimes use a mirror, on machines that are not
// nodes of OpenShift.
//
// Its input is what the mirror has: images, each with the reference that is requested and the one in
// the mirror, and the sources of mirror sets. Its output is a folder:
//
//	README.md                               what to copy where
//	containers/registries.conf.d/...        podman, Buildah, skopeo, CRI-O
//	containerd/certs.d/HOST/hosts.toml      containerd, and kind with kind.yaml
//	k3s/registries.yaml, rke2/...           K3s and RKE2
//	talos/machine-config.yaml, ...          Talos Linux
//	olm-v1/...                              OLM v1 on Kubernetes
//	not-redirected.txt                      images that a runtime does not find
//
// The formats differ in what they can express. registries.conf has a mirror for each repository or
// namespace. K3s and RKE2 have one mirror for each registry, and rules that rewrite the names of
// repositories. containerd and Talos have one list of mirrors for each registry, and only a prefix can
// be added to the names. Each image is therefore looked up as each runtime would (see pull.lookUp). What
// a runtime would not find, or would find with other content, is listed and noted.
//
// The same input gives the same bytes, in any order.
package hosts

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// Input is what the files are made from.
type Input struct {
	// Host is the mirror: "mirror.example.com:5000".
	Host string
	// Images are the images of the mirror. Those with an empty Kind are requested by no cluster.
	Images []resources.Image
	// Mirrors are the sources of mirror sets for Images.
	Mirrors []resources.SourceMirrors
	// CA has the certificates of the mirror's issuer as PEM. If it is empty, runtimes use those of the
	// system.
	CA []byte
	// PlainHTTP is set for a mirror without TLS.
	PlainHTTP bool
}

func (in Input) url() string {
	if in.PlainHTTP {
		return "http://" + in.Host
	}
	return "https://" + in.Host
}

// blocked reports whether runtimes may not pull from the sources.
func (in Input) blocked() bool {
	return slices.ContainsFunc(in.Mirrors, resources.SourceMirrors.Blocked)
}

// Build returns the files, sorted by name, and notes about images that a runtime would not find. Names of
// files contain folders. Without an image to redirect, there are no files.
func Build(in Input) (files []resources.File, notes []string, err error) {
	pulls := readPulls(in)
	if len(pulls) == 0 {
		return nil, nil, nil
	}
	registries := readRegistries(pulls, in.blocked())
	add := func(name string, text []byte) { files = append(files, resources.File{Name: name, Text: text}) }

	if len(in.Mirrors) > 0 {
		add("containers/registries.conf.d/"+dropIn, registriesConf(in))
		if err := addOLM(in, add); err != nil {
			return nil, nil, err
		}
	}
	addContainerd(in, registries, add)
	add("kind.yaml", []byte(kindConfig))
	if err := addK3s(in, registries, add); err != nil {
		return nil, nil, err
	}
	if err := addTalos(in, registries, add); err != nil {
		return nil, nil, err
	}
	lost, notes, err := lookUpAll(pulls, registries, stockOf(in))
	if err != nil {
		return nil, nil, err
	}
	if len(lost) > 0 {
		add("not-redirected.txt", lost)
	}
	add("README.md", readme(in, len(lost) > 0))
	elements.Sort(files, func(a, b resources.File) int { return strings.Compare(a.Name, b.Name) })
	return files, notes, nil
}
