package bundle

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// metadataDir is the folder with a bundle's annotations.
const metadataDir = "metadata"

// The annotations of a bundle (operator-registry, docs/design/operator-bundle.md).
const (
	annotationMediaType      = "operators.operatorframework.io.bundle.mediatype.v1"
	annotationManifests      = "operators.operatorframework.io.bundle.manifests.v1"
	annotationPackage        = "operators.operatorframework.io.bundle.package.v1"
	annotationChannels       = "operators.operatorframework.io.bundle.channels.v1"
	annotationDefaultChannel = "operators.operatorframework.io.bundle.channel.default.v1"

	mediaType = "registry+v1"
)

// A metadataFiles is the content of metadata/.
type metadataFiles struct {
	manifests    string // a directory
	dependencies *list
	properties   *list
}

// A list has the properties or dependencies of a file.
type list struct {
	file  *manifest
	key   string
	items []item
}

type item struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// metadata reads the files of metadata/. The first file of each sort is used.
func (r *reader) metadata() (metadataFiles, error) {
	s := metadataFiles{manifests: "manifests"}
	names, err := r.files(metadataDir)
	if err != nil {
		return s, err
	}
	var annotations *manifest
	for _, name := range names {
		m, err := r.file(name, strict(name))
		if err != nil {
			return s, err
		}
		if m == nil {
			continue
		}
		members := map[string]json.RawMessage{}
		if json.Unmarshal(m.json, &members) != nil {
			continue
		}
		if known(members["annotations"]) && annotations == nil {
			annotations = m
		}
		if s.dependencies == nil {
			s.dependencies = r.list(m, "dependencies", members)
		}
		if s.properties == nil {
			s.properties = r.list(m, "properties", members)
		}
	}
	if annotations != nil {
		r.annotations(&s, annotations)
	} else if len(r.problems) == 0 {
		r.problem(position{file: metadataDir}, "no file has the annotation %s or another annotation of a bundle", annotationPackage)
	}
	return s, nil
}

// known reports whether annotations are those of a bundle.
func known(annotations json.RawMessage) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(annotations, &members) != nil {
		return false
	}
	return slices.ContainsFunc([]string{annotationPackage, annotationChannels, annotationDefaultChannel}, func(name string) bool { return len(members[name]) > 0 })
}

// list reads a list of properties or dependencies. It returns nil if there is none. Files of
// metadata/ are recognized by their content.
func (r *reader) list(m *manifest, key string, members map[string]json.RawMessage) *list {
	if len(members[key]) == 0 {
		return nil
	}
	l := &list{file: m, key: key}
	if err := json.Unmarshal(members[key], &l.items); err != nil {
		// Another sort of file may have a member with this name.
		if strings.HasPrefix(path.Base(m.file), key) {
			r.problem(m.at(key), "%s must be a list of elements with a type and a value", key)
		}
		return nil
	}
	for i, item := range l.items {
		switch {
		case item.Type == "":
			r.problem(l.at(i), "an element of %s has no type", key)
		case len(item.Value) == 0 || string(item.Value) == "null":
			r.problem(l.at(i), "an element of %s, of type %s, has no value", key, item.Type)
		}
	}
	if len(l.items) == 0 {
		return nil
	}
	return l
}

// at returns the position of an element.
func (l *list) at(i int) position { return l.file.at(l.key, fmt.Sprint(i)) }

// annotations reads the annotations.
func (r *reader) annotations(s *metadataFiles, m *manifest) {
	var file struct {
		Annotations map[string]string `json:"annotations"`
	}
	if f := m.decode(&file); f != nil {
		r.fault(f)
		return
	}
	get := func(name string) string { return strings.TrimSpace(file.Annotations[name]) }
	at := func(name string) position { return m.at("annotations", name) }

	if t := get(annotationMediaType); t != "" && t != mediaType {
		r.problem(at(annotationMediaType), "the media type of the bundle is %s; only %s is supported in catalogs", t, mediaType)
	}
	if dir := get(annotationManifests); dir != "" {
		s.manifests = path.Clean(strings.TrimPrefix(dir, "/"))
		if !fs.ValidPath(s.manifests) {
			r.problem(at(annotationManifests), "the folder of the manifests, %q, is not inside of the bundle", dir)
		}
	}
	b := r.bundle
	b.Package = get(annotationPackage)
	if b.Package == "" {
		r.problem(at(annotationPackage), "the annotation %s is missing; set it to the name of the package", annotationPackage)
	}
}
