package installed

// A Cluster is what the objects of a cluster say about it.
type Cluster struct {
	Operators []Operator
	Versions  []ClusterVersion
	// Catalogs are the catalogs that operators are installed from.
	Catalogs []Catalog
	// Mirrors are the rules of the mirror sets.
	Mirrors []MirrorRule
	// Conditions are what keeps operators and the platform from being updated.
	Conditions []Condition
}

// Add adds what another input says about the same cluster, or about another cluster that uses the same
// catalogs.
func (c *Cluster) Add(other *Cluster) {
	c.Operators = Merge(c.Operators, other.Operators)
	c.Versions = append(c.Versions, other.Versions...)
	c.Catalogs = append(c.Catalogs, other.Catalogs...)
	c.Mirrors = append(c.Mirrors, other.Mirrors...)
	c.Conditions = append(c.Conditions, other.Conditions...)
}

// A Catalog is a CatalogSource, with its namespace, or a ClusterCatalog.
type Catalog struct {
	Namespace, Name string
	// Image is the reference of its image.
	Image string
	// DisplayName is the name of a CatalogSource in the console, or "".
	DisplayName string
}

// Title returns NAMESPACE/NAME of a CatalogSource, as in Operator.Catalog, or the name of a
// ClusterCatalog.
func (c Catalog) Title() string {
	if c.Namespace == "" {
		return c.Name
	}
	return c.Namespace + "/" + c.Name
}

// A MirrorRule is an entry of a mirror set: images whose names begin with Source are pulled from
// Mirrors.
type MirrorRule struct {
	Source  string   `json:"source"`
	Mirrors []string `json:"mirrors"`
}

// The kinds of objects that say where content comes from.
const (
	kindCatalogSource  = "CatalogSource"
	kindClusterCatalog = "ClusterCatalog"
	kindDigestMirrors  = "ImageDigestMirrorSet"
	kindTagMirrors     = "ImageTagMirrorSet"
	kindContentPolicy  = "ImageContentSourcePolicy"
	groupContentPolicy = "operator.openshift.io"
)

// takeSource adds a catalog or the rules of a mirror set. Objects of other kinds are ignored.
func (f *file) takeSource(o object) error {
	switch {
	case o.Kind == kindCatalogSource && o.group() == groupClassic:
		var spec struct {
			Image       string `json:"image"`
			DisplayName string `json:"displayName"`
		}
		if err := unmarshal(o, "spec", o.Spec, &spec); err != nil {
			return err
		}
		if spec.Image != "" {
			f.catalogs = append(f.catalogs, Catalog{o.Metadata.Namespace, o.Metadata.Name, spec.Image, spec.DisplayName})
		}
	case o.Kind == kindClusterCatalog && o.group() == groupV1:
		var spec struct {
			Source struct {
				Image struct {
					Ref string `json:"ref"`
				} `json:"image"`
			} `json:"source"`
		}
		if err := unmarshal(o, "spec", o.Spec, &spec); err != nil {
			return err
		}
		if ref := spec.Source.Image.Ref; ref != "" {
			f.catalogs = append(f.catalogs, Catalog{Name: o.Metadata.Name, Image: ref})
		}
	case (o.Kind == kindDigestMirrors || o.Kind == kindTagMirrors) && o.group() == groupConfig,
		o.Kind == kindContentPolicy && o.group() == groupContentPolicy:
		var spec struct {
			ByDigest []MirrorRule `json:"imageDigestMirrors"`
			ByTag    []MirrorRule `json:"imageTagMirrors"`
			Policy   []MirrorRule `json:"repositoryDigestMirrors"`
		}
		if err := unmarshal(o, "spec", o.Spec, &spec); err != nil {
			return err
		}
		f.mirrors = append(append(append(f.mirrors, spec.ByDigest...), spec.ByTag...), spec.Policy...)
	}
	return nil
}
