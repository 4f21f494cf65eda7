package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// checkFile returns the objects of a file that are valid, as "Kind/name", and the errors of the
// others. A file without an object is an error.
func (d definitions) checkFile(ctx context.Context, name string) (passed []string, faults []error) {
	manifests, err := os.ReadFile(name)
	if err != nil {
		return nil, []error{err}
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return passed, append(faults, err)
		}
		object, err := decode(text)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if object == nil {
			continue
		}
		title := object.GetKind() + "/" + object.GetName()
		found := d.check(ctx, object)
		for _, fault := range found {
			faults = append(faults, fmt.Errorf("%s: %w", title, fault))
		}
		if len(found) == 0 {
			passed = append(passed, title)
		}
	}
	if len(passed)+len(faults) == 0 {
		faults = append(faults, errors.New("the file holds no object"))
	}
	return passed, faults
}

// decode reads one YAML document as the API server does: duplicate keys are an error and whole
// numbers stay whole. It returns nil for an empty document.
func decode(text []byte) (*unstructured.Unstructured, error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	if string(asJSON) == "null" {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(asJSON, &object.Object); err != nil {
		return nil, err
	}
	return object, nil
}

// check runs the checks of a create request on one object.
func (d definitions) check(ctx context.Context, object *unstructured.Unstructured) (faults []error) {
	gvk := schema.FromAPIVersionAndKind(object.GetAPIVersion(), object.GetKind())
	def, ok := d[gvk]
	if !ok {
		return []error{fmt.Errorf("no CRD serves %s", gvk)}
	}
	add := func(list field.ErrorList) {
		for _, fault := range list {
			faults = append(faults, fault)
		}
	}
	content := object.Object

	fault, unknown := objectmeta.CoerceWithOptions(nil, content, def.structural, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if fault != nil {
		return []error{fault}
	}
	unknown = append(unknown, pruning.PruneWithOptions(content, def.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	for _, path := range unknown {
		faults = append(faults, fmt.Errorf("unknown field %q", path))
	}
	defaulting.Default(content, def.structural)

	add(apivalidation.ValidateObjectMetaAccessor(object, def.namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")))
	if object.GetGenerateName() != "" {
		faults = append(faults, errors.New("metadata.generateName: apply needs a name"))
	}
	add(validation.ValidateCustomResource(nil, content, def.schema))
	add(listtype.ValidateListSetsAndMaps(nil, def.structural, content))
	add(objectmeta.Validate(ctx, nil, content, def.structural, true))
	if def.rules != nil {
		found, _ := def.rules.Validate(ctx, nil, def.structural, content, nil, celconfig.RuntimeCELCostBudget)
		add(found)
	}
	return faults
}
