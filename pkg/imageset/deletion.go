package imageset

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// DeletionKind identifies a DeleteImageSetConfiguration. Its version is APIVersion.
const DeletionKind = "DeleteImageSetConfiguration"

// A Deletion is one DeleteImageSetConfiguration: what to delete from a mirror. Load and Usable say what was
// checked. It marshals to JSON as ParseDeletion reads it.
type Deletion struct {
	Pos Position
	// Delete has Platform, Operators, AdditionalImages and Helm, and nothing else.
	Delete Mirror
	// Text is the file.
	Text []byte
	// Warnings and Unusable are those of a Config.
	Warnings, Unusable []Problem
}

// LoadDeletion reads the DeleteImageSetConfiguration at path as Load reads a configuration.
func LoadDeletion(path string) (*Deletion, error) {
	text, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseDeletion(path, text)
}

// ParseDeletion reads a DeleteImageSetConfiguration as Parse reads a configuration.
func ParseDeletion(file string, text []byte) (*Deletion, error) {
	r := newReader(file)
	root, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	return r.deletion(root, text)
}

func (r *reader) deletion(root *yaml.Node, text []byte) (*Deletion, error) {
	d := &Deletion{Text: text}
	if root != nil && !foreign(r, root, DeletionKind) {
		deletionObject().read(r, root, "", &d.Pos, d)
	}
	if err := r.error(); err != nil {
		return nil, err
	}
	d.Warnings, d.Unusable = problemsOf(r.warnings), unusableOf(r.warnings)
	return d, nil
}

// Usable returns an *Error if the file has text that cannot be used, such as an image reference that is not
// valid.
func (d *Deletion) Usable() error {
	if len(d.Unusable) == 0 {
		return nil
	}
	return &Error{Problems: d.Unusable}
}

// MarshalJSON writes the file as ParseDeletion reads it, without positions and unset fields.
func (d Deletion) MarshalJSON() ([]byte, error) { return deletionObject().encode(&d), nil }

// Check reads the file at path, which is an ImageSetConfiguration or a DeleteImageSetConfiguration, and
// returns its warnings.
func Check(path string) ([]Problem, error) {
	text, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := newReader(path)
	root, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	if root != nil && root.Kind == yaml.MappingNode && headerOf(r, root)["kind"] == DeletionKind {
		d, err := r.deletion(root, text)
		if err != nil {
			return nil, err
		}
		return d.Warnings, nil
	}
	c, err := r.config(root)
	if err != nil {
		return nil, err
	}
	return c.Warnings, nil
}

// DeletionSchema is Schema for a DeleteImageSetConfiguration.
func DeletionSchema() []byte {
	return schemaOf(deletionObject().shape(), DeletionKind, "What to delete from a mirror: "+APIVersion+".")
}

func deletionObject() object[Deletion] {
	f := must(section("delete", "What to delete.", func(d *Deletion) *Mirror { return &d.Delete }, deletedObject()))
	f.write = func(from *Deletion) []byte { return deletedObject().encode(&from.Delete) } // also if it is empty
	f.absent = func(r *reader, path string, d *Deletion) {
		if p, ok := r.at[f.name]; ok {
			f.read(r, &yaml.Node{Kind: yaml.MappingNode, Line: p.Line, Column: p.Column}, f.name, d)
			return
		}
		r.fault(path, fmt.Sprintf("field %q is missing", f.name), "it needs "+f.shape.wanted())
	}
	return object[Deletion]{
		fields: []field[Deletion]{
			versionField[Deletion](),
			constant[Deletion]("kind", "The kind of the document.", DeletionKind, func(s string) (string, string) {
				return quote(s) + " is not the kind of this file", fmt.Sprintf("write %q", DeletionKind)
			}),
			f,
		},
		removed: map[string]string{
			"mirror":      "it belongs to an ImageSetConfiguration; remove it",
			"archiveSize": "it belongs to an ImageSetConfiguration; remove it",
		},
	}
}

// deletedObject has the fields of mirror that a DeleteImageSetConfiguration has.
func deletedObject() object[Mirror] {
	o := mirrorObject()
	descriptions := map[string]string{
		"platform":         "Platform releases to delete.",
		"operators":        "Operator catalogs, and what to delete of each; everything without packages.",
		"additionalImages": "Images to delete.",
		"helm":             "Helm charts to delete, with their images.",
	}
	o.fields = slices.DeleteFunc(o.fields, func(f field[Mirror]) bool { return descriptions[f.name] == "" })
	for i := range o.fields {
		o.fields[i].shape.Description = descriptions[o.fields[i].name]
	}
	o.former = append(o.former, ignored[Mirror]("samples", "images of samples are not deleted"))
	o.check = checkDeleted
	return o
}

func checkDeleted(r *reader, path string, m *Mirror) {
	const named = "remove it; name what to delete"
	for i := range m.Operators {
		o, at := &m.Operators[i], fmt.Sprintf("%s.operators[%d]", path, i)
		if o.Dependencies {
			r.fault(join(at, "dependencies"), "has no meaning for deletions", named)
		}
		if len(o.Installed) > 0 {
			r.fault(join(at, "installed"), "has no meaning for deletions", named)
		}
	}
	for i := range m.AdditionalImages {
		if m.AdditionalImages[i].Tags != nil {
			r.fault(fmt.Sprintf("%s.additionalImages[%d].tags", path, i), "has no meaning for deletions", "list the images with their tags")
		}
	}
	if len(r.problems) == 0 && m.Platform != nil && m.Platform.selectsNothing() {
		r.warn(join(path, "platform"), "selects nothing: it has no channels, no release and no `graph: true`", r.drop(join(path, "platform")))
		m.Platform = nil
	}
	if len(r.problems) == 0 && m.Platform == nil && len(m.Operators)+len(m.AdditionalImages) == 0 && m.Helm.SelectsNothing() {
		r.unusable(path, "there is nothing to delete", "add operators, additionalImages, helm or platform")
	}
}
