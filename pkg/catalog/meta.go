package catalog

// The schemas that OLM knows.
const (
	SchemaPackage      = "olm.package"
	SchemaChannel      = "olm.channel"
	SchemaBundle       = "olm.bundle"
	SchemaDeprecations = "olm.deprecations"
)

// A Meta is one object of a file-based catalog: its identity and its text. It is immutable; a
// changed object is a new Meta.
type Meta struct {
	Schema string
	// Package is the package the object belongs to: its own name for an
	// olm.package, "" for an object that belongs to the whole catalog.
	Package string
	Name    string
	// Raw is the object as JSON: the exact bytes of a JSON file, or the converted value of a YAML
	// file, with exact integers.
	Raw []byte
	// Packed is the text if it is compressed ([Options.Pack]); Raw is nil then. Text returns either.
	Packed *Packed
	// File (slash-separated, below the catalog's root) and Line (from 1) are the position of the
	// object.
	File string
	Line int
}
