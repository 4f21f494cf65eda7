package bundle

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// metadataDir is where a bundle says what it is for.
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

// said is what the files of metadata/ say.
type said struct {
	manifests    string // a directory
	dependencies *list
	properties   *list
}

// A list is the properties or dependencies of a file.
type list struct {
	file  *manifest
	key   string
	items []item
}

type item struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// metadata reads the files of metadata/. Of each sort the first counts.
func (r *reader) metadata() (said, error) {
	s := said{manifests: "manifests"}
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
		r.problem(place{file: metadataDir}, "no file has annotations such as %s", annotationPackage)
	}
	return s, nil
}

// known reports whether annotations are those of a bundle.
func known(annotations json.RawMessage) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(annotations, &members) != nil {
		return false
	}
	for _, name := range []string{annotationPackage, annotationChannels, annotationDefaultChannel} {
		if len(members[name]) > 0 {
			return true
		}
	}
	return false
}

// list reads a list of properties or dependencies; nil is none. A file is told by
// what is in it, as everywhere in metadata/.
func (r *reader) list(m *manifest, key string, members map[string]json.RawMessage) *list {
	if len(members[key]) == 0 {
		return nil
	}
	l := &list{file: m, key: key}
	if err := json.Unmarshal(members[key], &l.items); err != nil {
		// Another file may have a member of that name.
		if strings.HasPrefix(path.Base(m.file), key) {
			r.problem(m.at(key), "the %s are not a list whose elements have a type and a value", key)
		}
		return nil
	}
	for i, item := range l.items {
		switch {
		case item.Type == "":
			r.problem(l.at(i), "one of the %s has no type", key)
		case len(item.Value) == 0 || string(item.Value) == "null":
			r.problem(l.at(i), "the %s of type %s have one without a value", key, item.Type)
		}
	}
	if len(l.items) == 0 {
		return nil
	}
	return l
}

// at is where an element stands.
func (l *list) at(i int) place { return l.file.at(l.key, fmt.Sprint(i)) }

// annotations takes what the annotations say.
func (r *reader) annotations(s *said, m *manifest) {
	var file struct {
		Annotations map[string]string `json:"annotations"`
	}
	if f := m.decode(&file); f != nil {
		r.fault(f)
		return
	}
	get := func(name string) string { return strings.TrimSpace(file.Annotations[name]) }
	at := func(name string) place { return m.at("annotations", name) }

	if t := get(annotationMediaType); t != "" && t != mediaType {
		r.problem(at(annotationMediaType), "the bundle is of media type %s; only %s can stand in a catalog", t, mediaType)
	}
	if dir := get(annotationManifests); dir != "" {
		s.manifests = path.Clean(strings.TrimPrefix(dir, "/"))
		if !fs.ValidPath(s.manifests) {
			r.problem(at(annotationManifests), "the manifests are said to be in %q, which is not inside of the bundle", dir)
		}
	}
	b := r.bundle
	b.Package = get(annotationPackage)
	if b.Package == "" {
		r.problem(at(annotationPackage), "the annotation %s is missing: it names the package", annotationPackage)
	}
}
