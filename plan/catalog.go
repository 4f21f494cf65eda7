package plan

import (
	"encoding/json"

	"github.com/opencontainers/go-digest"
)

// A Catalog is one operator catalog: where it came from, what was kept of it
// and the image that carries it in the mirror.
type Catalog struct {
	// Source is the reference as configured.
	Source string `json:"source"`
	// SourceDigest is the root manifest that the source had when the plan was
	// made; "" for dir://.
	SourceDigest digest.Digest `json:"sourceDigest,omitempty"`
	// Target is the "REPOSITORY:TAG" of targetCatalog and targetTag, either half
	// of which may be missing; "" where neither is set. A source may stand in a
	// plan once for each target.
	Target string `json:"target,omitempty"`
	// Digest, Repository and Tag name the image in the mirror.
	Digest     digest.Digest `json:"digest"`
	Repository string        `json:"repository"`
	Tag        string        `json:"tag"`
	// Built says that Gantry made the image; otherwise it is the source's.
	Built bool `json:"built"`
	// BinaryLess says that the image holds no program that serves it, so that a
	// CatalogSource has to extract its content.
	BinaryLess bool `json:"binaryLess,omitempty"`
	// ConfigsDir is the folder of the catalog in the image: "/configs".
	ConfigsDir string `json:"configsDir"`
	// Selection is the mirror.operators[] entry, with what clusters have
	// installed of its packages.
	Selection json.RawMessage `json:"selection"`
	// Template and TemplateName are the text and the name of the
	// targetCatalogSourceTemplate.
	Template     string    `json:"template,omitempty"`
	TemplateName string    `json:"templateName,omitempty"`
	Packages     []Package `json:"packages"`
	// Required are bundles that were kept since others need them; with Selection
	// and SourceDigest they are all that is needed to build the image again.
	Required []Required `json:"required,omitempty"`
	// LeftOut are packages that Selection keeps and the image does not have,
	// since images that they name could not be had; see [Reduce]. Packages lacks
	// them.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
}

// Required is a bundle that others need, in the channel that it was taken from.
type Required struct {
	Package string `json:"package"`
	Channel string `json:"channel"`
	Bundle  string `json:"bundle"`
	For     string `json:"for"` // who asked, for people
}

// Name tells the catalogs of a plan apart: the source, and the target where the
// configuration sets one.
func (c Catalog) Name() string {
	if c.Target == "" {
		return c.Source
	}
	return c.Source + " as " + c.Target
}

// A Package is a package that was kept.
type Package struct {
	Name           string    `json:"name"`
	DefaultChannel string    `json:"defaultChannel"`
	Channels       []Channel `json:"channels"`
}

// A Channel is a channel that was kept.
type Channel struct {
	Name    string   `json:"name"`
	Head    string   `json:"head"`
	Bundles []Bundle `json:"bundles"`
}

// A Bundle is a bundle that was kept in a channel, and why.
type Bundle struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Reason is a word of package filter: head, range, full, bundle, installed,
	// dependency, continuity.
	Reason string `json:"reason"`
	// For names what the reason refers to: the bundle that continuity was kept
	// for, what is installed, or who has the dependency; mostly "".
	For string `json:"for,omitempty"`
}
