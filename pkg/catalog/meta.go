package catalog

// The schemas that OLM gives a meaning.
const (
	SchemaPackage      = "olm.package"
	SchemaChannel      = "olm.channel"
	SchemaBundle       = "olm.bundle"
	SchemaDeprecations = "olm.deprecations"
)

// A Meta is one object of a file-based catalog: its identity and its text. It
// is immutable; what rewrites an object makes a new Meta.
type Meta struct {
	Schema string
	// Package is the package the object belongs to: its own name for an
	// olm.package, "" for an object that belongs to the whole catalog.
	Package string
	Name    string
	// Raw is the object as JSON. From a JSON file it is the text as it stood,
	// byte for byte; from YAML it is the same value with integers exact.
	Raw []byte
	// File (slash-separated, below the catalog's root) and Line (from 1) are
	// where the object began.
	File string
	Line int
}
