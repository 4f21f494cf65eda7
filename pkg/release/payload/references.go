package payload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

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
	Name string    `json:"name"`
	From imageFrom `json:"from"`
}

type imageFrom struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// parseReferences returns the name and the components in image-references, by the rules of oc
// (pkg/cli/admin/release/info.go).
func parseReferences(data []byte) (name string, components []Component, err error) {
	var s imageStream
	if err := json.Unmarshal(data, &s); err != nil {
		return "", nil, err
	}
	if s.Kind != "ImageStream" || s.APIVersion != "image.openshift.io/v1" {
		return "", nil, fmt.Errorf("kind %.200q of %.200q, want ImageStream of image.openshift.io/v1", s.Kind, s.APIVersion)
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
			return "", nil, fmt.Errorf("component %.200q: %w", tag.Name, err)
		case tag.Name == "":
			return "", nil, fmt.Errorf("a component has no name (%s)", ref)
		case seen[tag.Name]:
			return "", nil, fmt.Errorf("component %.200q occurs twice", tag.Name)
		}
		seen[tag.Name] = true
		byRef[ref] = append(byRef[ref], tag.Name)
	}
	if len(byRef) == 0 {
		return "", nil, errors.New("no images listed")
	}
	for ref, names := range byRef {
		slices.Sort(names)
		components = append(components, Component{Names: names, Ref: ref.String(), Digest: ref.Digest})
	}
	slices.SortFunc(components, func(a, b Component) int { return cmp.Compare(a.Names[0], b.Names[0]) })
	return s.Metadata.Name, components, nil
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
