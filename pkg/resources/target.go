package resources

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The platforms of clusters.
const (
	openShift  = "openshift"
	kubernetes = "kubernetes"
)

// A Target is the clusters that apply the manifests.
type Target struct {
	// Kubernetes means that the clusters are not OpenShift, and have OLM v1 alone.
	Kubernetes bool
	// Version is the oldest version of OpenShift, its major and minor number. 0.0 is unknown.
	Version OpenShiftVersion
	// Components are those that not every cluster of the version has a use for. See optionalComponents.
	Components []string
}

// An OpenShiftVersion is a minor version, such as 4.20.
type OpenShiftVersion struct{ Major, Minor int }

// String returns "4.20".
func (v OpenShiftVersion) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Compare orders versions.
func (v OpenShiftVersion) Compare(w OpenShiftVersion) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}

// parseOpenShiftVersion reads "4.20", "v4.20" or "4.20.3". ok is false for other text.
func parseOpenShiftVersion(text string) (v OpenShiftVersion, ok bool) {
	parts := strings.Split(strings.TrimPrefix(text, "v"), ".")
	if len(parts) < 2 {
		return v, false
	}
	var err1, err2 error
	v.Major, err1 = strconv.Atoi(parts[0])
	v.Minor, err2 = strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil || v.Major < 4 || v.Minor < 0 {
		return OpenShiftVersion{}, false
	}
	return v, true
}

// ParseTarget reads "openshift", "openshift-4.20" or "kubernetes" and optional components, separated by
// commas: "openshift-4.20,update-service". The components are for OpenShift. Without a platform, the Target has components alone.
func ParseTarget(text string) (Target, error) {
	var t Target
	var platform string
	for i, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		name, version, versioned := strings.Cut(word, "-")
		switch {
		case slices.Contains(optionalComponents(), word):
			if !slices.Contains(t.Components, word) {
				t.Components = append(t.Components, word)
			}
			continue
		case name != openShift && word != kubernetes:
			words := append([]string{openShift + "-4.20", kubernetes}, optionalComponents()...)
			return t, fmt.Errorf("%q is neither openshift-VERSION nor kubernetes, and no component that can be added (%s)%s",
				word, strings.Join(optionalComponents(), ", "), hint(word, words))
		case platform != "" || i > 0:
			return t, fmt.Errorf("%q: name one platform, before the components", text)
		}
		platform, t.Kubernetes = name, word == kubernetes
		if versioned {
			var ok bool
			if t.Version, ok = parseOpenShiftVersion(version); !ok || strings.Count(version, ".") != 1 {
				return t, fmt.Errorf("%q: want openshift and a minor version, such as openshift-4.20", word)
			}
		}
	}
	if t.Kubernetes && len(t.Components) > 0 {
		return Target{}, fmt.Errorf("%q: %s is for OpenShift; name kubernetes alone", text, strings.Join(t.Components, ", "))
	}
	slices.Sort(t.Components)
	return t, nil
}

// String returns what ParseTarget reads.
func (t Target) String() string {
	platform := openShift
	switch {
	case t.Kubernetes:
		platform = kubernetes
	case t.Version != OpenShiftVersion{}:
		platform += "-" + t.Version.String()
	}
	return strings.Join(append([]string{platform}, t.Components...), ",")
}

// OldestVersion returns the oldest version of OpenShift that clusters with this content may have: of the
// versions of releases, or, without any, of the tags of catalogs. It is 0.0 if neither has one.
func OldestVersion(releases []string, catalogs []Catalog) OpenShiftVersion {
	var all []OpenShiftVersion
	for _, text := range releases {
		if v, ok := parseOpenShiftVersion(text); ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		for _, c := range catalogs {
			if v, ok := parseOpenShiftVersion(c.Mirror.Tag); ok {
				all = append(all, v)
			}
		}
	}
	if len(all) == 0 {
		return OpenShiftVersion{}
	}
	return slices.MinFunc(all, OpenShiftVersion.Compare)
}
