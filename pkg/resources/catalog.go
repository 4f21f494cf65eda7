package resources

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// marketplace is where OLM on OpenShift looks for catalogs of all namespaces.
const marketplace = "openshift-marketplace"

// defaultConfigsDir is the catalog's folder if it is unknown.
const defaultConfigsDir = "/configs"

// catalogManifests returns a CatalogSource and a ClusterCatalog for each catalog.
func catalogManifests(catalogs []Catalog) (files []File, notes []string, err error) {
	catalogs = elements.Sorted(slices.Values(catalogs), func(a, b Catalog) int { return strings.Compare(a.identity(), b.identity()) })
	if catalogs, err = withNames(catalogs); err != nil {
		return nil, nil, err
	}
	titles, err := readTitles(catalogs)
	if err != nil {
		return nil, nil, err
	}
	names := map[string]string{} // namespace/name of an object -> the catalog with that name
	for i, c := range catalogs {
		if c.VariantOf != "" {
			continue // the CatalogSource of the other catalog names it
		}
		// The file has the generated name even if a template sets another name: names in templates
		// are unique only within their namespace.
		text, id, more, err := catalogSource(c, sourcePrefix+c.Name, titles[i].display, catalogs)
		if err != nil {
			return nil, nil, fmt.Errorf("catalog %s: %w", c.Source, inTemplate(c, err))
		}
		if err := claim(names, id, c); err != nil {
			return nil, nil, fmt.Errorf("catalog %s: %w", c.Source, inTemplate(c, err))
		}
		files = append(files, File{catalogSourceFile(c.Name), text})
		for _, note := range more {
			notes = append(notes, fmt.Sprintf("catalog %s, template %s: %s", c.Source, c.TemplateName, note))
		}

		if !locationPattern().MatchString(c.Mirror.Name()) {
			notes = append(notes, fmt.Sprintf("catalog %s: no ClusterCatalog is written, because it cannot refer to %s; give the mirror a host name", c.Source, c.Mirror.Name()))
			continue
		}
		text, object, more, err := clusterCatalog(c)
		if err == nil {
			err = claim(names, "/"+object.Name, c)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("catalog %s: %w", c.Source, inClusterTemplate(c, err))
		}
		files = append(files, File{clusterPrefix + c.Name + ".yaml", text})
		for _, note := range more {
			notes = append(notes, fmt.Sprintf("catalog %s, template %s: %s", c.Source, c.ClusterCatalogTemplateName, note))
		}
	}
	return files, notes, nil
}

// claim records that the object of a catalog has the namespace/name id, unless another catalog's has it.
func claim(names map[string]string, id string, c Catalog) error {
	if other := names[id]; other != "" {
		return fmt.Errorf("catalog %s also has the name %s; change metadata.name, or remove it to get a generated name", other, strings.TrimPrefix(id, "/"))
	}
	names[id] = c.identity()
	return nil
}

// withNames names the catalogs that have no name, and leaves out those that have the name and the place
// of another one: they are one catalog in the mirror.
func withNames(catalogs []Catalog) ([]Catalog, error) {
	var given []CatalogName
	for i := range catalogs {
		c := &catalogs[i]
		if i > 0 && catalogs[i-1].identity() == c.identity() {
			return nil, fmt.Errorf("catalog %s: given twice", c.identity())
		}
		place, err := c.place()
		if err != nil {
			return nil, fmt.Errorf("catalog %s: %w", c.Source, err)
		}
		if c.Name != "" {
			given = append(given, CatalogName{Source: c.Source, Target: c.Target, Place: place, Name: c.Name})
		}
	}
	named, _, err := NameCatalogs(catalogs, given)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(named, func(c Catalog) bool {
		twice := seen[c.Name]
		seen[c.Name] = true
		return twice
	}), nil
}

// readTitles returns the titles of catalogs, which are sorted. If several would be displayed alike,
// their complete source is added.
func readTitles(catalogs []Catalog) ([]title, error) {
	var titles []title
	count := map[string]int{}
	for _, c := range catalogs {
		if c.Mirror.Digest == "" {
			return nil, fmt.Errorf("catalog %s: the digest of %s is unknown", c.Source, c.Mirror)
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

// catalogSource returns the CatalogSource of c, with name and display as its defaults. The second
// result is its namespace/name, the third are warnings about the template. all are the catalogs of the
// mirror, to which olm.catalogImageTemplate may resolve.
//
// The image is referenced by digest, because a tag may change without the cluster's knowledge. OLM
// never polls a digest for a newer image, so a template that polls gets the tag.
func catalogSource(c Catalog, name, display string, all []Catalog) (text []byte, id string, notes []string, err error) {
	t, err := readSourceTemplate(c.Template)
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
	t.rewriteImageTemplate(all)
	t.spec["sourceType"] = "grpc"
	t.spec["image"] = image.String()
	if t.typed.DisplayName == "" {
		t.spec["displayName"] = display
	}
	if err := t.extract(c); err != nil {
		return nil, "", nil, err
	}
	id = t.id(name)
	t.metadata["namespace"], t.metadata["name"], _ = strings.Cut(id, "/")
	text, err = yaml.Marshal(t.object)
	return text, id, t.notes, err
}

// extract makes the cluster serve the catalog with its own opm if the image contains none, or if the
// template asks for it.
//
// It removes extractContent.cacheDir. With a cache, the cluster's opm refuses to start unless the cache
// has its format and matches the catalog. Images that Gantry builds contain no cache, and the cache
// of another image depends on the version of opm that wrote it. Without cacheDir, opm creates its own.
func (t *sourceTemplate) extract(c Catalog) error {
	pod := t.typed.GrpcPodConfig
	if pod == nil || pod.ExtractContent == nil {
		if !c.BinaryLess {
			return nil
		}
		config, err := mapping(t.spec, "grpcPodConfig")
		if err != nil {
			return err
		}
		config["extractContent"] = map[string]any{"catalogDir": cmp.Or(c.ConfigsDir, defaultConfigsDir)}
		return nil
	}
	dir := c.ConfigsDir
	if c.BinaryLess {
		dir = cmp.Or(dir, defaultConfigsDir)
	}
	if given := pod.ExtractContent.CatalogDir; dir != "" && path.Clean(given) != dir {
		t.notes = append(t.notes, fmt.Sprintf("spec.grpcPodConfig.extractContent.catalogDir is %s, but the catalog is in %s; the catalog's pod will not start", given, dir))
	}
	config, err := mapping(t.spec, "grpcPodConfig")
	if err != nil {
		return err
	}
	content, err := mapping(config, "extractContent")
	if err != nil {
		return err
	}
	delete(content, "cacheDir")
	if dropped := pod.ExtractContent.CacheDir; dropped != "" {
		t.notes = append(t.notes, fmt.Sprintf("spec.grpcPodConfig.extractContent.cacheDir (%s) was removed: the catalog's pod would not start with a cache that does not match; opm creates its own", dropped))
	}
	return nil
}
