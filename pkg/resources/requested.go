package resources

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Requested is what manifests make a cluster request from a mirror. ReadRequested makes it.
type Requested struct {
	// Mirrors are the mirrors of all mirror sets, Images the images that objects name, both in the
	// order of the files.
	Mirrors []RequestedMirror
	Images  []RequestedImage
	// Signatures are those of the ConfigMaps that the cluster-version operator reads.
	Signatures []RequestedSignature
	// Templates are the annotations olm.catalogImageTemplate, Policies what signatures are required of.
	Templates []RequestedTemplate
	Policies  []RequestedPolicy
	// Unreadable are the files that are not manifests, with the error.
	Unreadable []UnreadableFile

	entries []entry
	policy  string
}

// A RequestedMirror is one mirror of one source in a mirror set.
type RequestedMirror struct {
	File   string
	Object ObjectName
	// Source and Mirror are repositories or namespaces, with their hosts.
	Source, Mirror string
}

// A RequestedImage is an image that an object names.
type RequestedImage struct {
	File   string
	Object ObjectName
	// Role is RequestedCatalog, RequestedGraphData or RequestedReleases.
	Role  RequestedRole
	Image string
}

// A RequestedRole is what an image is for an object.
type RequestedRole string

const (
	// RequestedCatalog is the image of a CatalogSource or ClusterCatalog.
	RequestedCatalog RequestedRole = "catalog"
	// RequestedGraphData is the image of an UpdateService with the graph data.
	RequestedGraphData RequestedRole = "graph data"
	// RequestedReleases is the repository in which an UpdateService looks for releases. It has neither
	// tag nor digest.
	RequestedReleases RequestedRole = "releases"
)

// A RequestedSignature is an image for which a ConfigMap has signatures.
type RequestedSignature struct {
	File   string
	Object ObjectName
	Digest digest.Digest
	Bodies [][]byte
}

// An UnreadableFile is a file that is not a manifest.
type UnreadableFile struct {
	File string
	Err  error
}

// ReadRequested reads manifests, which the user may have changed. Objects of other kinds are ignored.
func ReadRequested(files []File) *Requested {
	r := &Requested{}
	for _, f := range files {
		all, err := readObjects(f)
		if err == nil {
			for _, o := range all {
				err = cmp.Or(err, r.add(f.Name, o))
			}
		}
		if err != nil {
			r.Unreadable = append(r.Unreadable, UnreadableFile{f.Name, err})
		}
	}
	elements.Sort(r.entries, func(a, b entry) int { return strings.Compare(a.source, b.source) })
	return r
}

// requestedSpec has the fields of all kinds of objects that name content of a mirror.
type requestedSpec struct {
	ImageDigestMirrors      []requestedRule
	ImageTagMirrors         []requestedRule
	RepositoryDigestMirrors []requestedRule
	Image                   string
	Source                  struct{ Image struct{ Ref string } }
	Releases                string
	GraphDataImage          string
}

type requestedRule struct {
	Source             string
	Mirrors            []string
	MirrorSourcePolicy string
}

func (r *Requested) add(file string, o object) error {
	switch o.name.Kind {
	case "ConfigMap":
		return r.addSignatures(file, o)
	case "ImageDigestMirrorSet", "ImageTagMirrorSet", "ImageContentSourcePolicy", "CatalogSource", "UpdateService":
	case "ClusterCatalog":
	case "ImagePolicy", "ClusterImagePolicy":
		return r.addPolicy(file, o)
	default:
		return nil
	}
	var all struct{ Spec json.RawMessage }
	var spec requestedSpec
	if err := json.Unmarshal(o.text, &all); err != nil {
		return err
	}
	if o.name.Kind == "ClusterCatalog" || o.name.Kind == "CatalogSource" {
		var err error
		if spec, err = catalogSpec(o.name.Kind, all.Spec); err != nil {
			return fmt.Errorf("reading %s: %w", o.name, err)
		}
	} else if err := json.Unmarshal(all.Spec, &spec); err != nil {
		return fmt.Errorf("reading %s: %w", o.name, err)
	}
	if o.name.Kind == "CatalogSource" {
		r.addTemplate(file, o)
	}
	r.addRules(file, o.name, true, spec.ImageDigestMirrors)
	r.addRules(file, o.name, true, spec.RepositoryDigestMirrors)
	r.addRules(file, o.name, false, spec.ImageTagMirrors)
	for _, i := range []RequestedImage{{Role: RequestedCatalog, Image: cmp.Or(spec.Image, spec.Source.Image.Ref)}, {Role: RequestedGraphData, Image: spec.GraphDataImage}, {Role: RequestedReleases, Image: spec.Releases}} {
		if i.Image != "" {
			i.File, i.Object = file, o.name
			r.Images = append(r.Images, i)
		}
	}
	return nil
}

// catalogSpec reads the spec of a catalog. The field source is a text in one of the two kinds.
func catalogSpec(kind string, raw json.RawMessage) (spec requestedSpec, err error) {
	if kind == "CatalogSource" {
		var classic struct{ Image string }
		err = json.Unmarshal(raw, &classic)
		spec.Image = classic.Image
		return spec, err
	}
	var v1 struct {
		Source struct{ Image struct{ Ref string } }
	}
	err = json.Unmarshal(raw, &v1)
	spec.Source = v1.Source
	return spec, err
}

// addRules adds the entries of a mirror set. Nodes merge the sets of all files.
func (r *Requested) addRules(file string, name ObjectName, byDigest bool, rules []requestedRule) {
	for _, rule := range rules {
		if rule.MirrorSourcePolicy == neverContactSource {
			r.policy = neverContactSource
		}
		i := slices.IndexFunc(r.entries, func(e entry) bool { return e.source == rule.Source })
		if i < 0 {
			i = len(r.entries)
			r.entries = append(r.entries, entry{source: rule.Source})
		}
		mirrors := &r.entries[i].mirrors[index(byDigest)]
		for _, m := range rule.Mirrors {
			r.Mirrors = append(r.Mirrors, RequestedMirror{File: file, Object: name, Source: rule.Source, Mirror: m})
			if !slices.Contains(*mirrors, m) {
				*mirrors = append(*mirrors, m)
			}
		}
	}
}

// addSignatures adds the images of a ConfigMap with signatures. Other ConfigMaps are ignored.
func (r *Requested) addSignatures(file string, o object) error {
	var m configMap
	if o.name.Namespace != signatureNamespace || json.Unmarshal(o.text, &m) != nil {
		return nil //nolint:nilerr // it is a ConfigMap of others
	}
	if _, labelled := m.Metadata.Labels[signatureLabel]; !labelled {
		return nil
	}
	bodies := map[digest.Digest][][]byte{}
	for _, key := range sortedKeys(m.BinaryData) {
		algorithm, rest, _ := strings.Cut(key, "-")
		hex, _, _ := strings.Cut(rest, "-")
		d := digest.NewDigestFromEncoded(digest.Algorithm(algorithm), hex)
		if err := d.Validate(); err != nil {
			return fmt.Errorf("%s: the key %q does not begin with a digest", o.name, key)
		}
		bodies[d] = append(bodies[d], m.BinaryData[key])
	}
	for _, d := range slices.Sorted(maps.Keys(bodies)) {
		r.Signatures = append(r.Signatures, RequestedSignature{File: file, Object: o.name, Digest: d, Bodies: bodies[d]})
	}
	return nil
}

// An Unredirected is an image that clusters do not find in the mirror.
type Unredirected struct {
	// Name is the reference that clusters request.
	Name, Problem string
}

// reference returns the reference that clusters request.
func (p pull) reference() string {
	if p.byDigest {
		return p.name + "@" + p.id
	}
	return p.name + ":" + p.id
}

// Unredirected looks up images as nodes do that have the mirror sets, and returns those that they do
// not find in the mirror. Images that no mirror set can redirect are left out: Build notes them.
func (r *Requested) Unredirected(images []Image) ([]Unredirected, error) {
	pulls, tags, _, err := readPulls(images)
	if err != nil {
		return nil, err
	}
	onlyDigests := slices.ContainsFunc(r.Mirrors, func(m RequestedMirror) bool { return m.Object.Kind == "ImageContentSourcePolicy" })
	var lost []Unredirected
	for _, p := range pulls {
		problem := lookUp(p, r.entries, tags, r.policy)
		if problem == "" || onlyDigests && !p.byDigest {
			continue
		}
		if longest(p.name, r.entries) == nil {
			problem = "no mirror set has its repository or a parent of it as the source"
		}
		lost = append(lost, Unredirected{p.reference(), problem})
	}
	return lost, nil
}

// UnredirectedBy returns the images that are not found in the mirror by a configuration that is not a
// mirror set. find returns the repositories that a pull tries. Images that no mirror set can redirect
// are left out.
func UnredirectedBy(images []Image, find func(reference.Reference) (repositories []string, err error)) ([]Unredirected, error) {
	pulls, _, _, err := readPulls(images)
	if err != nil {
		return nil, err
	}
	var lost []Unredirected
	for _, p := range pulls {
		ref, err := reference.Parse(p.reference())
		if err != nil {
			return nil, err
		}
		tried, err := find(ref)
		switch {
		case err != nil:
			lost = append(lost, Unredirected{p.reference(), err.Error()})
		case !slices.ContainsFunc(tried, func(at string) bool { return slices.Contains(p.mirrors, at) }):
			lost = append(lost, Unredirected{p.reference(), "it leads to " + strings.Join(tried, ", ")})
		}
	}
	return lost, nil
}
