package releasetest

import (
	_ "embed" // for real412
	"strings"
)

// defaultComponents are the components of a release without a list of components: those that tools
// look up by name, and two names of one image.
const defaultComponents = "cli cluster-version-operator machine-config-operator ovn-kubernetes ovn-kubernetes-microshift rhel-coreos"

// Components returns the default components of a release.
func Components() []string { return strings.Fields(defaultComponents) }

// Real412 returns the components of OpenShift 4.12.0.
func Real412() []string { return strings.Fields(real412) }

// aliases are components with the same image as another component of the release.
var aliases = map[string]string{
	"csi-driver-shared-resource-webhook": "csi-driver-shared-resource",
	"ovn-kubernetes-microshift":          "ovn-kubernetes",
}

// real412 are the real names of spec.tags in the image-references of 4.12.0.
//
//go:embed real412.txt
var real412 string
