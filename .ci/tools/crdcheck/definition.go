package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// A definition is one served version of a CustomResourceDefinition, prepared for checking objects.
type definition struct {
	namespaced bool
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator // nil if the schema has no CEL rules
}

// definitions are keyed by the apiVersion and kind of the objects they check.
type definitions map[schema.GroupVersionKind]definition

// readCRDs reads every *.yaml file of dir. A file that is not a CustomResourceDefinition is an
// error, and so is a folder without any such file.
func readCRDs(dir string) (definitions, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no *.yaml file, so no CRD", dir)
	}
	known := definitions{}
	for _, name := range names {
		if err := known.read(name); err != nil {
			return nil, fmt.Errorf("reading CRD %s: %w", name, err)
		}
	}
	return known, nil
}

func (d definitions) read(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	if crd.Kind != "CustomResourceDefinition" {
		return fmt.Errorf("kind is %q", crd.Kind)
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served || version.Schema == nil {
			continue
		}
		gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
		def, err := compile(version.Schema)
		if err != nil {
			return fmt.Errorf("version %s: %w", version.Name, err)
		}
		def.namespaced = crd.Spec.Scope == apiextensionsv1.NamespaceScoped
		d[gvk] = def
	}
	return nil
}

func compile(v1 *apiextensionsv1.CustomResourceValidation) (definition, error) {
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v1, &internal, nil); err != nil {
		return definition{}, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return definition{}, err
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return definition{}, err
	}
	return definition{
		structural: structural,
		schema:     validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}
