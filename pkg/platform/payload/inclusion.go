package payload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/blang/semver/v4"
	"sigs.k8s.io/yaml"
)

// The annotations that decide whether a cluster has an object (library-go, pkg/image/manifest).
const (
	capabilityKey   = "capability.openshift.io/name" // "A+B": all are needed
	profilePrefix   = "include.release.openshift.io/"
	featureSetKey   = "release.openshift.io/feature-set"
	featureGateKey  = "release.openshift.io/feature-gate"
	majorVersionKey = "release.openshift.io/major-version"
)

// DefaultProfile is the profile of clusters that run on their own machines, and DefaultFeatureSet the
// feature set of clusters that can be updated.
const (
	DefaultProfile    = "self-managed-high-availability"
	DefaultFeatureSet = "Default"
)

// An Inclusion selects the manifests that a cluster has. The zero value selects all.
type Inclusion struct {
	// Profile and FeatureSet are those of the cluster; "" does not filter.
	Profile, FeatureSet string
	// Capabilities are those that are enabled; nil does not filter, an empty list enables none.
	Capabilities []string

	gates []string // enabled; nil does not filter
	major uint64   // of the release; 0 does not filter
}

// Of returns the inclusion for a release, with the feature gates that its FeatureGate objects enable for
// the profile and the feature set. Without either, feature gates do not filter.
func (i Inclusion) Of(version string, manifests []Manifest) (Inclusion, error) {
	if i.Profile == "" || i.FeatureSet == "" {
		return i, nil
	}
	v, err := semver.Parse(version)
	if err != nil {
		return i, err
	}
	i.major = v.Major
	gates := []string{}
	for _, m := range manifests {
		if m.Kind != "FeatureGate" || m.APIVersion != "config.openshift.io/v1" || (Inclusion{Profile: i.Profile, FeatureSet: i.FeatureSet, major: i.major}).Exclude(&m) != "" {
			continue
		}
		var object struct {
			Status struct {
				FeatureGates []struct {
					Enabled []struct {
						Name string `json:"name"`
					} `json:"enabled"`
				} `json:"featureGates"`
			} `json:"status"`
		}
		if err := yaml.Unmarshal(m.Text, &object); err != nil {
			return i, fmt.Errorf("reading %s: FeatureGate %s: %w", m.File, m.Name, err)
		}
		for _, version := range object.Status.FeatureGates {
			for _, gate := range version.Enabled {
				gates = append(gates, gate.Name)
			}
		}
	}
	i.gates = gates
	return i, nil
}

// Exclude returns why a cluster does not have an object; "" if it has it. The reason is the annotation,
// or the one that is missing.
func (i Inclusion) Exclude(m *Manifest) string {
	a := m.Annotations
	if i.FeatureSet != "" {
		if sets, ok := a[featureSetKey]; ok && !slices.Contains(strings.Split(sets, ","), i.FeatureSet) {
			return featureSetKey + "=" + sets
		}
	}
	if i.gates != nil && !i.opens(a[featureGateKey]) {
		return featureGateKey + "=" + a[featureGateKey]
	}
	if i.major != 0 && !matchesMajor(a[majorVersionKey], i.major) {
		return majorVersionKey + "=" + a[majorVersionKey]
	}
	if i.Profile != "" && a[profilePrefix+i.Profile] != "true" {
		return profilePrefix + i.Profile + " is not true"
	}
	if i.Capabilities != nil {
		for _, c := range m.Capabilities() {
			if !slices.Contains(i.Capabilities, c) {
				return capabilityKey + "=" + a[capabilityKey]
			}
		}
	}
	return ""
}

// opens reports whether the enabled gates fulfill an annotation: "A,-B" needs A and excludes B.
func (i Inclusion) opens(text string) bool {
	for gate := range strings.SplitSeq(text, ",") {
		name, not := strings.CutPrefix(strings.TrimSpace(gate), "-")
		if name != "" && slices.Contains(i.gates, name) == not {
			return false
		}
	}
	return true
}

// matchesMajor reports whether a release with this major version fulfills an annotation: "5" needs 5,
// "-5" excludes it.
func matchesMajor(text string, major uint64) bool {
	needs, has := false, false
	for part := range strings.SplitSeq(text, ",") {
		number, not := strings.CutPrefix(strings.TrimSpace(part), "-")
		n, err := strconv.ParseUint(number, 10, 64)
		switch {
		case number == "":
		case err != nil, not && n == major:
			return false
		case !not:
			needs, has = true, has || n == major
		}
	}
	return !needs || has
}

// Capabilities returns the capabilities that a cluster needs to have an object, usually none.
func (m *Manifest) Capabilities() []string {
	if m.Annotations[capabilityKey] == "" {
		return nil
	}
	return strings.Split(m.Annotations[capabilityKey], "+")
}

// Profiles returns the profiles of clusters that have an object, sorted.
func (m *Manifest) Profiles() []string {
	var profiles []string
	for key, value := range m.Annotations {
		if name, ok := strings.CutPrefix(key, profilePrefix); ok && value == "true" {
			profiles = append(profiles, name)
		}
	}
	slices.Sort(profiles)
	return profiles
}

// FeatureSets returns the feature sets in the annotation of an object, usually none.
func (m *Manifest) FeatureSets() []string {
	if m.Annotations[featureSetKey] == "" {
		return nil
	}
	return strings.Split(m.Annotations[featureSetKey], ",")
}

// Names of capability sets.
const (
	NoCapabilities  = "None"
	AllCapabilities = "vCurrent" // what the release knows; the default of clusters
)

// capabilitySets are the sets that a cluster can have as its baseline (openshift/api, config/v1). Each
// set contains those before it. Sets after v4.18 are equal to it.
var capabilitySets = [...]struct{ name, adds string }{
	{NoCapabilities, ""},
	{"v4.11", "baremetal marketplace openshift-samples MachineAPI"},
	{"v4.12", "Console Insights Storage CSISnapshot"},
	{"v4.13", "NodeTuning"},
	{"v4.14", "Build DeploymentConfig ImageRegistry"},
	{"v4.15", "OperatorLifecycleManager CloudCredential"},
	{"v4.16", "Ingress CloudControllerManager"},
	{"v4.17", ""},
	{"v4.18", "OperatorLifecycleManagerV1"},
}

// CapabilitySets returns the names of the sets of capabilities.
func CapabilitySets() []string {
	var names []string
	for _, s := range capabilitySets {
		names = append(names, s.name)
	}
	return append(names, AllCapabilities)
}

// CapabilitySet returns the capabilities of a set, sorted; known are those that the release knows. The
// result is nil if the set does not exist.
func CapabilitySet(name string, known []string) []string {
	if name == AllCapabilities {
		return append([]string{}, known...)
	}
	all := []string{}
	for _, s := range capabilitySets {
		all = append(all, strings.Fields(s.adds)...)
		if s.name == name {
			slices.Sort(all)
			return all
		}
	}
	return nil
}

// KnownCapabilities returns the capabilities that manifests name, sorted.
func KnownCapabilities(manifests []Manifest) []string {
	return collect(manifests, (*Manifest).Capabilities)
}

// KnownProfiles returns the profiles that manifests name, sorted.
func KnownProfiles(manifests []Manifest) []string { return collect(manifests, (*Manifest).Profiles) }

// KnownFeatureSets returns the feature sets that manifests name, and the default, sorted.
func KnownFeatureSets(manifests []Manifest) []string {
	all := append(collect(manifests, (*Manifest).FeatureSets), DefaultFeatureSet)
	slices.Sort(all)
	return slices.Compact(all)
}

// collect returns what a function returns for all manifests, sorted and without duplicates.
func collect(manifests []Manifest, of func(*Manifest) []string) []string {
	var all []string
	for i := range manifests {
		all = append(all, of(&manifests[i])...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
