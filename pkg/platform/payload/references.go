package payload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// An imageStream is the part of image-references that is read: an ImageStream of
// image.openshift.io/v1.
type imageStream struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Tags []imageTag `json:"tags"`
	} `json:"spec"`
}

type imageTag struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
	From        imageFrom         `json:"from"`
}

// The annotations with the versions of software: "kubernetes=1.33.4,runc=1.2", and what to call it.
const (
	versionsKey     = "io.openshift.build.versions"
	displayNamesKey = "io.openshift.build.version-display-names"
)

// A SoftwareVersion is the version of software in a component, as the component declares it.
type SoftwareVersion struct {
	// Name is "kubernetes" or "machine-os", and Display what to call it; usually "".
	Name, Version, Display string
}

type imageFrom struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// parseReferences returns the name and the components in image-references, by the rules of oc
// (pkg/cli/admin/release/info.go).
func parseReferences(data []byte) (name string, components []Component, versions []SoftwareVersion, err error) {
	var s imageStream
	if err := json.Unmarshal(data, &s); err != nil {
		return "", nil, nil, err
	}
	if s.Kind != "ImageStream" || s.APIVersion != "image.openshift.io/v1" {
		return "", nil, nil, fmt.Errorf("kind %.200q of %.200q, want ImageStream of image.openshift.io/v1", s.Kind, s.APIVersion)
	}
	byRef := map[reference.Reference][]string{}
	seen := map[string]bool{}
	for _, tag := range s.Spec.Tags {
		if tag.From.Kind != "DockerImage" {
			continue
		}
		ref, err := pinned(tag.From.Name)
		switch {
		case err != nil:
			return "", nil, nil, fmt.Errorf("component %.200q: %w", tag.Name, err)
		case tag.Name == "":
			return "", nil, nil, fmt.Errorf("a component has no name (%s)", ref)
		case seen[tag.Name]:
			return "", nil, nil, fmt.Errorf("component %.200q occurs twice", tag.Name)
		}
		seen[tag.Name] = true
		versions = append(versions, tag.versions()...)
		byRef[ref] = append(byRef[ref], tag.Name)
	}
	if len(byRef) == 0 {
		return "", nil, nil, errors.New("no images listed")
	}
	for ref, names := range byRef {
		slices.Sort(names)
		components = append(components, Component{Names: names, Ref: ref.String(), Digest: ref.Digest})
	}
	elements.Sort(components, func(a, b Component) int { return cmp.Compare(a.Names[0], b.Names[0]) })
	elements.Sort(versions, func(a, b SoftwareVersion) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(b.Display, a.Display))
	})
	versions = slices.CompactFunc(versions, func(a, b SoftwareVersion) bool { return a.Name == b.Name && a.Version == b.Version })
	return s.Metadata.Name, components, versions, nil
}

// versions returns the versions that a component declares. What is not NAME=VERSION is left out, as in
// oc.
func (t imageTag) versions() []SoftwareVersion {
	display := map[string]string{}
	for pair := range strings.SplitSeq(t.Annotations[displayNamesKey], ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(pair), "=")
		display[name] = text
	}
	var all []SoftwareVersion
	for pair := range strings.SplitSeq(t.Annotations[versionsKey], ",") {
		name, version, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if _, err := semver.Parse(version); err == nil && name != "" {
			all = append(all, SoftwareVersion{name, version, display[name]})
		}
	}
	return all
}

// VersionOf returns the version of software, such as "kubernetes"; "" if no component declares it, or
// if components declare several.
func (p *Payload) VersionOf(name string) string {
	version := ""
	for _, v := range p.Versions {
		if v.Name == name && version != "" {
			return ""
		}
		if v.Name == name {
			version = v.Version
		}
	}
	return version
}

// pinned parses a reference that has a digest and no tag.
func pinned(s string) (reference.Reference, error) {
	r, err := reference.Parse(s)
	switch {
	case err != nil:
		return r, err
	case r.Tag != "":
		return r, fmt.Errorf("image reference %q has a tag; a release names images only by digest", s)
	case r.Digest == "":
		return r, fmt.Errorf("image reference %q has no digest", s)
	}
	return r, nil
}
