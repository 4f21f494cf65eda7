package resources

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

const (
	catalogSourceVersion = "operators.coreos.com/v1alpha1"
	maxTemplate          = 1 << 20 // the limit of an etcd object is about 1.5 MB
)

// A template is an object of a catalog without the fields that Gantry sets. The maps are those of the
// YAML text, including unknown fields, and may be changed.
type template struct {
	kind                   string
	object, metadata, spec map[string]any
	name, namespace        string // "" if the template does not set them
	labels, annotations    map[string]string
	notes                  []string
}

// A sourceTemplate is the CatalogSource of targetCatalogSourceTemplate.
type sourceTemplate struct {
	template
	typed catalogSourceSpec
	image ImageTemplate
}

// readSourceTemplate reads a CatalogSource. A nil text is the empty template.
func readSourceTemplate(text []byte) (sourceTemplate, error) {
	from, err := readTemplate(text, catalogSourceVersion, "CatalogSource")
	if err != nil {
		return sourceTemplate{}, err
	}
	t := sourceTemplate{template: from, image: ImageTemplate(from.annotations[imageTemplateKey])}
	return t, t.readSpec()
}

// readTemplate reads one YAML document of at most 1 MiB with an object. Duplicate keys, another kind and
// wrong types are errors that name the field. Fields that a cluster adds to an object (status, uid,
// resourceVersion and the like) are removed, so that the output of `oc get -o yaml` can be used. A nil
// text is the empty template.
func readTemplate(text []byte, version, kind string) (template, error) {
	t := template{kind: kind, object: map[string]any{"apiVersion": version, "kind": kind}}
	if text != nil {
		object, err := decodeObject(text, kind)
		if err != nil {
			return template{}, err
		}
		t.object = object
	}
	for _, must := range [][2]string{{"kind", kind}, {"apiVersion", version}} {
		switch got := t.object[must[0]]; got {
		case must[1]:
		case nil:
			return template{}, fmt.Errorf("%s is missing; it must be %s", must[0], must[1])
		default:
			return template{}, fmt.Errorf("%s is %v; it must be %s", must[0], got, must[1])
		}
	}
	delete(t.object, "status")
	var err error
	if t.metadata, err = mapping(t.object, "metadata"); err != nil {
		return template{}, err
	}
	if t.spec, err = mapping(t.object, "spec"); err != nil {
		return template{}, err
	}
	return t, t.readMetadata()
}

// decodeObject reads one YAML document with an object of a kind in it. Numbers keep their spelling.
func decodeObject(text []byte, kind string) (map[string]any, error) {
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("it has %d bytes, the limit is %d", len(text), maxTemplate)
	}
	documents := yamlv3.NewDecoder(bytes.NewReader(text))
	for n := 1; ; n++ {
		var document yamlv3.Node
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n > 1 {
			return nil, fmt.Errorf("it contains more than one YAML document; keep only the %s", kind)
		}
	}
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	numbers := json.NewDecoder(bytes.NewReader(asJSON))
	numbers.UseNumber()
	var object map[string]any
	if err := numbers.Decode(&object); err != nil || object == nil {
		return nil, errors.New("it does not contain a YAML object")
	}
	return object, nil
}

// mapping returns the object in field, and adds an empty one if it is missing.
func mapping(object map[string]any, field string) (map[string]any, error) {
	switch v := object[field].(type) {
	case map[string]any:
		return v, nil
	case nil:
		m := map[string]any{}
		object[field] = m
		return m, nil
	default:
		return nil, fmt.Errorf("%s is not an object", field)
	}
}

func (t *template) readMetadata() error {
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"generation", "managedFields", "ownerReferences", "selfLink"} {
		delete(t.metadata, field)
	}
	var typed struct {
		Name         string            `json:"name"`
		GenerateName string            `json:"generateName"`
		Namespace    string            `json:"namespace"`
		Labels       map[string]string `json:"labels"`
		Annotations  map[string]string `json:"annotations"`
	}
	if err := convert(t.metadata, &typed, "metadata"); err != nil {
		return err
	}
	if typed.GenerateName != "" {
		return errors.New("metadata.generateName cannot be applied twice; set metadata.name, or neither to get a name from the catalog")
	}
	if typed.Name != "" {
		if err := checkName("metadata.name", typed.Name); err != nil {
			return err
		}
	}
	if typed.Namespace != "" {
		if err := checkName("metadata.namespace", typed.Namespace); err != nil {
			return err
		}
	}
	t.name, t.namespace, t.labels, t.annotations = typed.Name, typed.Namespace, typed.Labels, typed.Annotations
	if annotations, ok := t.metadata["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		if len(annotations) == 0 {
			delete(t.metadata, "annotations")
		}
	}
	return nil
}
