package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// modulePath is the path of the packages whose types have comments in a schema.
const modulePath = "github.com/gantry-mirror/gantry"

// A schemaMaker makes JSON Schemas of Go types: what encoding/json writes for them, with the first paragraph of
// their comments as descriptions.
type schemaMaker struct {
	// special are types with a MarshalJSON method.
	special map[reflect.Type]*jsonschema.Schema
	defs    map[string]*jsonschema.Schema
	names   map[reflect.Type]string
	// comments are those of types ("package.Type") and of fields ("package.Type.Field").
	comments map[string]string
	parsed   map[string]bool
	err      error
}

// makeSchema returns the schema of the document that a command prints.
func makeSchema(title string, t reflect.Type, special map[reflect.Type]*jsonschema.Schema, comments map[string]string, parsed map[string]bool) (*jsonschema.Schema, error) {
	m := &schemaMaker{special: special, defs: map[string]*jsonschema.Schema{}, names: map[reflect.Type]string{}, comments: comments, parsed: parsed}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := m.structure(t)
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", title
	if len(m.defs) > 0 {
		s.Defs = m.defs
	}
	return s, m.err
}

func (m *schemaMaker) fail(t reflect.Type, why string) *jsonschema.Schema {
	if m.err == nil {
		m.err = fmt.Errorf("%s: %s", t, why)
	}
	return &jsonschema.Schema{}
}

// of returns the schema of a type. Named structs become definitions, so that types may contain themselves.
func (m *schemaMaker) of(t reflect.Type) *jsonschema.Schema {
	if s, ok := m.special[t]; ok {
		return s.CloneSchemas()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "integer", Description: "Nanoseconds."}
	case t == reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{}
	case t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[json.Marshaler]()):
		return m.fail(t, "it has a MarshalJSON method and no schema in specialSchemas")
	case t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Float32, reflect.Float64:
		return &jsonschema.Schema{Type: "number"}
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	case reflect.Interface:
		return &jsonschema.Schema{}
	case reflect.Pointer:
		return nullable(m.of(t.Elem()))
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
			return &jsonschema.Schema{Types: []string{"string", "null"}, ContentEncoding: "base64"}
		}
		return &jsonschema.Schema{Types: []string{"array", "null"}, Items: m.of(t.Elem())}
	case reflect.Map:
		return &jsonschema.Schema{Types: []string{"object", "null"}, AdditionalProperties: m.of(t.Elem())}
	case reflect.Struct:
		if t.Name() == "" {
			return m.structure(t)
		}
		return &jsonschema.Schema{Ref: "#/$defs/" + m.define(t)}
	}
	return m.fail(t, "it cannot be written as JSON")
}

// nullable returns a schema that also accepts null.
func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case s.Type != "":
		s.Types, s.Type = []string{s.Type, "null"}, ""
	case s.Ref != "":
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	return s
}

// define adds the schema of a named struct to the definitions, and returns its name there.
func (m *schemaMaker) define(t reflect.Type) string {
	if name, ok := m.names[t]; ok {
		return name
	}
	name := t.Name()
	if _, taken := m.defs[name]; taken {
		name = path.Base(t.PkgPath()) + t.Name()
	}
	m.names[t] = name
	m.defs[name] = &jsonschema.Schema{} // the name is taken, also while the type is read
	m.defs[name] = m.structure(t)
	return name
}

// structure returns the schema of a struct with its fields.
func (m *schemaMaker) structure(t reflect.Type) *jsonschema.Schema {
	if t.Kind() != reflect.Struct {
		return m.of(t)
	}
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, Description: m.comment(t, "")}
	for _, field := range reflect.VisibleFields(t) {
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-" || !field.IsExported(), field.Anonymous && name == "", m.hidden(t, field):
			continue
		case name == "":
			name = field.Name
		}
		property := m.of(field.Type)
		owner := t
		if len(field.Index) > 1 {
			owner = t.FieldByIndex(field.Index[:len(field.Index)-1]).Type
			for owner.Kind() == reflect.Pointer {
				owner = owner.Elem()
			}
		}
		if text := m.comment(owner, field.Name); text != "" {
			if property.Ref != "" {
				property = &jsonschema.Schema{AllOf: []*jsonschema.Schema{property}}
			}
			property.Description, property.Deprecated = text, strings.HasPrefix(text, "Deprecated:")
		}
		optional := slices.Contains(strings.Split(options, ","), "omitempty") || slices.Contains(strings.Split(options, ","), "omitzero")
		if optional { // then null, which stands for no value, is not written
			property.Types = slices.DeleteFunc(property.Types, func(t string) bool { return t == "null" })
			if len(property.AnyOf) == 2 {
				property.AllOf, property.AnyOf = property.AnyOf[:1], nil
			}
		}
		if s.Properties[name] = property; !optional && !m.throughPointer(t, field) {
			s.Required = append(s.Required, name)
		}
	}
	slices.Sort(s.Required)
	return s
}

// throughPointer reports whether a field is one of an embedded pointer, and absent if that is nil.
func (m *schemaMaker) throughPointer(t reflect.Type, f reflect.StructField) bool {
	for i := 1; i < len(f.Index); i++ {
		if t.FieldByIndex(f.Index[:i]).Type.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// hidden reports whether a field is one of an embedded struct that is a member of its own, or is not written.
func (m *schemaMaker) hidden(t reflect.Type, f reflect.StructField) bool {
	for i := 1; i < len(f.Index); i++ {
		if t.FieldByIndex(f.Index[:i]).Tag.Get("json") != "" {
			return true
		}
	}
	return false
}

// comment returns the first paragraph of the comment of a type or a field.
func (m *schemaMaker) comment(t reflect.Type, field string) string {
	if !strings.HasPrefix(t.PkgPath(), modulePath) && t.PkgPath() != "main" || t.Name() == "" {
		return ""
	}
	if err := m.parse(t.PkgPath()); err != nil && m.err == nil {
		m.err = err
	}
	return m.comments[strings.TrimSuffix(t.PkgPath()+"."+t.Name()+"."+field, ".")]
}

// parse reads the comments of a package.
func (m *schemaMaker) parse(pkg string) error {
	if m.parsed[pkg] {
		return nil
	}
	m.parsed[pkg] = true
	dir := "."
	if pkg != "main" && pkg != modulePath+"/cmd/gantry" {
		dir = filepath.Join("../..", strings.TrimPrefix(pkg, modulePath))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				for _, spec := range d.Specs {
					s, _ := spec.(*ast.TypeSpec)
					m.addComments(pkg+"."+s.Name.Name, s, d)
				}
			}
			return true
		})
	}
	return nil
}

func (m *schemaMaker) addComments(name string, s *ast.TypeSpec, d *ast.GenDecl) {
	m.comments[name] = paragraph(s.Doc, d.Doc)
	structure, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range structure.Fields.List {
		for _, id := range f.Names {
			m.comments[name+"."+id.Name] = paragraph(f.Doc, f.Comment)
		}
	}
}

// paragraph returns the first paragraph of the first comment that exists.
func paragraph(comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if text, _, _ := strings.Cut(c.Text(), "\n\n"); text != "" {
			return strings.Join(strings.Fields(text), " ")
		}
	}
	return ""
}

// strict changes a schema so that it refuses members that it does not name.
func strict(s *jsonschema.Schema) {
	if s.Properties != nil && s.AdditionalProperties == nil {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	for _, below := range []map[string]*jsonschema.Schema{s.Properties, s.Defs} {
		for _, c := range below {
			strict(c)
		}
	}
	for _, c := range append(slices.Concat(s.AnyOf, s.AllOf, s.OneOf), s.Items) {
		if c != nil {
			strict(c)
		}
	}
}
