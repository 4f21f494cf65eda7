package resources

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// marketplace is where OLM on OpenShift looks for catalogs of all namespaces.
const marketplace = "openshift-marketplace"

// catalogManifests writes a CatalogSource and a ClusterCatalog for each catalog.
func catalogManifests(catalogs []Catalog) (files []File, notes []string, err error) {
	catalogs = slices.SortedFunc(slices.Values(catalogs), func(a, b Catalog) int { return strings.Compare(a.identity(), b.identity()) })
	titles, err := readTitles(catalogs)
	if err != nil {
		return nil, nil, err
	}
	taken := map[string]string{} // namespace/name of a CatalogSource -> the catalog that has it
	for i, c := range catalogs {
		// The file goes by the generated name even if a template gives another:
		// names of templates are unique only within their namespace.
		fileName := titles[i].manifestName("cs", c.identity())
		text, id, more, err := catalogSource(c, fileName, titles[i].display)
		if err != nil {
			return nil, nil, fmt.Errorf("catalog %s: %w", c.Source, inTemplate(c, err))
		}
		if other := taken[id]; other != "" {
			return nil, nil, fmt.Errorf("catalog %s: %w", c.Source, inTemplate(c, fmt.Errorf(
				"catalog %s has the name %s too; change metadata.name, or leave it out to get a name of its own", other, id)))
		}
		taken[id] = c.identity()
		files = append(files, File{fileName + ".yaml", text})
		for _, note := range more {
			notes = append(notes, fmt.Sprintf("catalog %s, template %s: %s", c.Source, c.TemplateName, note))
		}

		if !locationPattern.MatchString(c.Mirror.Name()) {
			notes = append(notes, fmt.Sprintf("catalog %s: no ClusterCatalog is written, for it cannot refer to %s; give the mirror a host name", c.Source, c.Mirror.Name()))
			continue
		}
		name := titles[i].manifestName("cc", c.identity())
		if text, err = clusterCatalog(c, name); err != nil {
			return nil, nil, fmt.Errorf("catalog %s: %w", c.Source, err)
		}
		files = append(files, File{name + ".yaml", text})
	}
	return files, notes, nil
}

// readTitles returns the title of each catalog; the catalogs are sorted. Where
// several would look the same to people, their whole source is added.
func readTitles(catalogs []Catalog) ([]title, error) {
	var titles []title
	count := map[string]int{}
	for i, c := range catalogs {
		if i > 0 && catalogs[i-1].identity() == c.identity() {
			return nil, fmt.Errorf("catalog %s: it is given twice", c.identity())
		}
		if c.Mirror.Digest == "" {
			return nil, fmt.Errorf("catalog %s: the digest of %s is not known", c.Source, c.Mirror)
		}
		t, err := readTitle(c)
		if err != nil {
			return nil, fmt.Errorf("catalog %s: %w", c.Source, err)
		}
		count[t.display]++
		titles = append(titles, t)
	}
	for i, t := range titles {
		if count[t.display] > 1 {
			titles[i].display = fmt.Sprintf("%s (%s)", t.display, catalogs[i].identity())
		}
	}
	return titles, nil
}

// inTemplate adds the template's file to an error.
func inTemplate(c Catalog, err error) error {
	if c.Template == nil {
		return err
	}
	return fmt.Errorf("reading targetCatalogSourceTemplate %s: %w", c.TemplateName, err)
}

// catalogSource writes the CatalogSource of c, by default under name and display. The
// second result is its namespace/name, the third what is doubtful about the
// template.
//
// The image is referenced by digest, for a tag may move under the cluster. With
// a digest OLM never looks for a newer image, so where the template polls the
// tag is used.
func catalogSource(c Catalog, name, display string) (text []byte, id string, notes []string, err error) {
	t, err := readTemplate(c.Template)
	if err != nil {
		return nil, "", nil, err
	}
	image := c.Mirror.WithDigest(c.Mirror.Digest)
	if u := t.typed.UpdateStrategy; u != nil && u.RegistryPoll != nil {
		if c.Mirror.Tag == "" {
			return nil, "", nil, errors.New("spec.updateStrategy.registryPoll needs a catalog with a tag; set targetTag for the catalog, or remove registryPoll")
		}
		image = c.Mirror.WithTag(c.Mirror.Tag)
	}
	t.spec["sourceType"] = "grpc"
	t.spec["image"] = image.String()
	if t.typed.DisplayName == "" {
		t.spec["displayName"] = display
	}
	if c.BinaryLess {
		more, err := t.extract(cmp.Or(c.ConfigsDir, "/configs"))
		if err != nil {
			return nil, "", nil, err
		}
		t.notes = append(t.notes, more...)
	}
	id = t.id(name)
	t.metadata["namespace"], t.metadata["name"], _ = strings.Cut(id, "/")
	text, err = yaml.Marshal(t.object)
	return text, id, t.notes, err
}

// id is namespace/name of the CatalogSource that the template gives; name is the one
// that it gets where the template has none.
func (t *template) id(name string) string {
	return cmp.Or(t.namespace, marketplace) + "/" + cmp.Or(t.name, name)
}

// extract makes the cluster serve the catalog in dir with its own opm, unless
// the template says where from.
func (t *template) extract(dir string) (notes []string, err error) {
	if pod := t.typed.GrpcPodConfig; pod != nil && pod.ExtractContent != nil {
		if given := pod.ExtractContent.CatalogDir; given != dir {
			notes = append(notes, fmt.Sprintf("spec.grpcPodConfig.extractContent.catalogDir is %s, but the catalog is in %s", given, dir))
		}
		if pod.ExtractContent.CacheDir != "" {
			notes = append(notes, "spec.grpcPodConfig.extractContent.cacheDir is set, but the image holds no cache; the catalog's pod will not start")
		}
		return notes, nil
	}
	config, err := mapping(t.spec, "grpcPodConfig")
	if err != nil {
		return nil, err
	}
	config["extractContent"] = map[string]any{"catalogDir": dir}
	return nil, nil
}

// maxCatalogRef is the limit of spec.source.image.ref in the CRD.
const maxCatalogRef = 1000

// clusterCatalogManifest is a ClusterCatalog (olm.operatorframework.io/v1).
// Priority and availability are left to their defaults (0, Available): what an
// administrator patches there then survives the next apply.
type clusterCatalogManifest struct {
	APIVersion string     `yaml:"apiVersion"`
	Kind       string     `yaml:"kind"`
	Metadata   objectName `yaml:"metadata"`
	Spec       struct {
		Source struct {
			Type  string `yaml:"type"`
			Image struct {
				Ref string `yaml:"ref"`
			} `yaml:"image"`
		} `yaml:"source"`
	} `yaml:"spec"`
}

// clusterCatalog writes the ClusterCatalog of c. Its image is always referenced
// by digest: the CRD's rule for tags counts everything after the first colon,
// the port's, and so refuses tags of long paths on a host with a port.
func clusterCatalog(c Catalog, name string) ([]byte, error) {
	ref := c.Mirror.WithDigest(c.Mirror.Digest).String()
	if len(ref) > maxCatalogRef {
		return nil, fmt.Errorf("the reference %s has %d characters, a ClusterCatalog allows %d; shorten the mirror's path", ref, len(ref), maxCatalogRef)
	}
	m := clusterCatalogManifest{APIVersion: "olm.operatorframework.io/v1", Kind: "ClusterCatalog", Metadata: objectName{name}}
	m.Spec.Source.Type = "Image"
	m.Spec.Source.Image.Ref = ref
	return encode(m)
}
