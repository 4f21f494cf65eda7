package resources

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	clusterCatalogVersion = "olm.operatorframework.io/v1"

	// catalogNameLabel has the name of a ClusterCatalog. The cluster sets it.
	catalogNameLabel = "olm.operatorframework.io/metadata.name"

	// The CRD limits spec.source.image.ref to maxCatalogRef characters, and what it takes for the tag to
	// maxCatalogTag.
	maxCatalogRef = 1000
	maxCatalogTag = 127
)

// clusterCatalogManifest is a ClusterCatalog (olm.operatorframework.io/v1). Priority and
// availability keep their defaults (0, Available), so that changes by an administrator survive the
// next apply.
type clusterCatalogManifest struct {
	APIVersion string     `yaml:"apiVersion"`
	Kind       string     `yaml:"kind"`
	Metadata   objectMeta `yaml:"metadata"`
	Spec       struct {
		AvailabilityMode string `yaml:"availabilityMode,omitempty"`
		Source           struct {
			Type  string `yaml:"type"`
			Image struct {
				PollIntervalMinutes int    `yaml:"pollIntervalMinutes,omitempty"`
				Ref                 string `yaml:"ref"`
			} `yaml:"image"`
		} `yaml:"source"`
	} `yaml:"spec"`
}

// objectMeta is the metadata of an object.
type objectMeta struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace,omitempty"`
}

// clusterCatalogSpec has the fields of a ClusterCatalog's spec, which the CRD describes. Other fields are
// kept unchanged.
type clusterCatalogSpec struct {
	Priority         int32  `json:"priority"`
	AvailabilityMode string `json:"availabilityMode"`
	Source           struct {
		Type  string `json:"type"`
		Image struct {
			Ref                 string `json:"ref"`
			PollIntervalMinutes *int64 `json:"pollIntervalMinutes"`
		} `json:"image"`
	} `json:"source"`
}

// A clusterTemplate is the ClusterCatalog of targetClusterCatalogTemplate.
type clusterTemplate struct {
	template
	typed clusterCatalogSpec
}

// readClusterTemplate reads a ClusterCatalog. A nil text is the empty template.
func readClusterTemplate(text []byte) (clusterTemplate, error) {
	from, err := readTemplate(text, clusterCatalogVersion, "ClusterCatalog")
	if err != nil {
		return clusterTemplate{}, err
	}
	t := clusterTemplate{template: from}
	if slices.ContainsFunc(defaultCatalogs, func(c [2]string) bool { return c[0] == t.name }) {
		return t, fmt.Errorf("metadata.name %s is the name of a default catalog of OpenShift; choose another name", t.name)
	}
	if t.namespace != "" {
		delete(t.metadata, "namespace")
		t.notes = append(t.notes, "metadata.namespace was removed: a ClusterCatalog has none")
	}
	if labels, ok := t.metadata["labels"].(map[string]any); ok {
		delete(labels, catalogNameLabel)
		delete(t.labels, catalogNameLabel)
		if len(labels) == 0 {
			delete(t.metadata, "labels")
		}
	}
	return t, t.readSpec()
}

func (t *clusterTemplate) readSpec() error {
	if err := convert(t.spec, &t.typed, "spec"); err != nil {
		return err
	}
	t.noteUnknown("spec", t.spec, []string{"availabilityMode", "priority", "source"})
	modes := []string{"Available", "Unavailable"}
	if _, given := t.spec["availabilityMode"]; given && !slices.Contains(modes, t.typed.AvailabilityMode) {
		return fmt.Errorf("spec.availabilityMode is %q; want %s%s", t.typed.AvailabilityMode, strings.Join(modes, " or "), hint(t.typed.AvailabilityMode, modes))
	}
	if poll := t.typed.Source.Image.PollIntervalMinutes; poll != nil && *poll < 1 {
		return fmt.Errorf("spec.source.image.pollIntervalMinutes is %d; want at least 1", *poll)
	}
	return nil
}

// setImage makes ref the image of the catalog.
func (t *clusterTemplate) setImage(ref string) error {
	source, err := mapping(t.spec, "source")
	if err != nil {
		return err
	}
	image, err := mapping(source, "image")
	if err != nil {
		return err
	}
	t.noteUnknown("spec.source", source, []string{"image", "type"})
	t.noteUnknown("spec.source.image", image, []string{"pollIntervalMinutes", "ref"})
	given := t.typed.Source
	if given.Type != "" && given.Type != "Image" || given.Image.Ref != "" && given.Image.Ref != ref {
		t.notes = append(t.notes, "spec.source is ignored except for pollIntervalMinutes: the image is that in the mirror")
	}
	source["type"], image["ref"] = "Image", ref
	return nil
}

// A ClusterCatalog has what OLM v1 considers when it chooses a catalog.
type ClusterCatalog struct {
	Name        string
	Labels      map[string]string // without the label that the cluster sets
	Priority    int32
	Unavailable bool
}

// settings returns the ClusterCatalog of a template. name is used if the template sets none.
func (t *clusterTemplate) settings(name string) ClusterCatalog {
	return ClusterCatalog{
		Name: cmp.Or(t.name, name), Labels: t.labels,
		Priority: t.typed.Priority, Unavailable: t.typed.AvailabilityMode == "Unavailable",
	}
}

// ClusterCatalog returns the ClusterCatalog that Build writes for a catalog with a name. Values in the
// template take precedence. It fails if the template is invalid.
func (c Catalog) ClusterCatalog() (ClusterCatalog, error) {
	t, err := readClusterTemplate(c.ClusterCatalogTemplate)
	if err != nil {
		return ClusterCatalog{}, fmt.Errorf("catalog %s: %w", c.Source, inClusterTemplate(c, err))
	}
	return t.settings(clusterPrefix + c.Name), nil
}

// inClusterTemplate adds the template's file to an error.
func inClusterTemplate(c Catalog, err error) error {
	if c.ClusterCatalogTemplate == nil {
		return err
	}
	return fmt.Errorf("reading targetClusterCatalogTemplate %s: %w", c.ClusterCatalogTemplateName, err)
}

// clusterCatalog returns the ClusterCatalog of c, and warnings about its template. Its image is referenced
// by digest, unless the template polls.
func clusterCatalog(c Catalog) (text []byte, object ClusterCatalog, notes []string, err error) {
	t, err := readClusterTemplate(c.ClusterCatalogTemplate)
	if err != nil {
		return nil, object, nil, err
	}
	object = t.settings(clusterPrefix + c.Name)
	ref, err := t.reference(c)
	if err != nil {
		return nil, object, nil, err
	}
	if c.ClusterCatalogTemplate == nil {
		m := clusterCatalogManifest{APIVersion: clusterCatalogVersion, Kind: "ClusterCatalog", Metadata: objectMeta{Name: object.Name}}
		m.Spec.Source.Type = "Image"
		m.Spec.Source.Image.Ref = ref
		text, err = encode(m)
		return text, object, nil, err
	}
	if err := t.setImage(ref); err != nil {
		return nil, object, nil, err
	}
	t.metadata["name"] = object.Name
	text, err = yaml.Marshal(t.object)
	return text, object, t.notes, err
}

// reference returns the image of c in the mirror as the CRD allows it. A template that polls needs the
// tag, which the CRD's rule limits: it counts everything after the first colon, which may belong to the
// port, and so refuses tags of long paths on a host with a port.
func (t *clusterTemplate) reference(c Catalog) (string, error) {
	image := c.Mirror.WithDigest(c.Mirror.Digest)
	poll := t.typed.Source.Image.PollIntervalMinutes != nil
	if poll {
		if c.Mirror.Tag == "" {
			return "", errors.New("spec.source.image.pollIntervalMinutes needs a catalog with a tag; set targetTag for the catalog, or remove pollIntervalMinutes")
		}
		image = c.Mirror.WithTag(c.Mirror.Tag)
	}
	ref := image.String()
	if len(ref) > maxCatalogRef {
		return "", fmt.Errorf("the reference %s has %d characters, a ClusterCatalog allows %d; shorten the mirror's path", ref, len(ref), maxCatalogRef)
	}
	if _, tag, _ := strings.Cut(ref, ":"); poll && len(tag) > maxCatalogTag {
		return "", fmt.Errorf("spec.source.image.pollIntervalMinutes needs the tag, and a ClusterCatalog allows %d characters after the first colon of %s; "+
			"set a shorter targetCatalog for the catalog, or remove pollIntervalMinutes", maxCatalogTag, ref)
	}
	return ref, nil
}
