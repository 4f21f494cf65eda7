// Package setrecord is the format of the records that a mirror has of its image sets, and reads and writes
// them in a registry.
//
// Several image sets may share one mirror, and several hosts may mirror to it. What each image set has in the
// mirror is recorded there, in one repository ([Repository]), so that every host finds it. A workspace
// keeps a copy.
//
// A record is an OCI artifact of the type [Type] with two layers: what arrived ([state.Record]) and the plan,
// that is everything that the image set lists. Both are JSON, compressed with gzip. What a list of image sets shows
// is in annotations of the manifest, so that the layers need not be read: see [Revision].
//
// Each change of record or plan is a revision with a number. The tag NAME.tNUMBER.DIGITS is the manifest that
// began a revision; DIGITS are the first digits of the digest of its content, so that the list of tags alone
// shows whether something changed. The tag NAME is the manifest of the last run. A run that changes nothing
// writes only that manifest again. Revisions before the current one show what Gantry put into the mirror earlier.
//
// A record names repositories relative to the mirror, so it is the same for every name of the registry, and
// cannot send clusters to another one. Everything that is read is limited, and checked field by field.
package setrecord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	// Repository is the name of the repository in a mirror that has all records (mirror.RegistryPath.OwnRepository).
	Repository = "image-sets"
	// Type is the artifact type of records.
	Type = "application/vnd.gantry.image-set.v1"
	// RecordType and PlanType are the media types of the layers.
	RecordType = "application/vnd.gantry.image-set.record.v1+json+gzip"
	PlanType   = "application/vnd.gantry.image-set.plan.v1+json+gzip"
)

// A Revision is what one image set has in a mirror, and its plan, until one of the two changes. It is
// read from the manifest of the revision. Its JSON is part of what gantry status docker://HOST -o json prints.
type Revision struct {
	// Name is the name of the image set.
	Name string `json:"name"`
	// Number counts the revisions of the image set from 1, and Runs all of its runs.
	Number int `json:"revision"`
	Runs   int `json:"runs"`
	// Deprecated: Turn is Number under the key of earlier versions, which read no other in the files of workspaces.
	Turn int `json:"turn"`
	// Since is when the revision began, LastRun when the manifest was written. Both are UTC, in full seconds.
	Since   time.Time `json:"since"`
	LastRun time.Time `json:"lastRun"`
	// Host, User and Version (of Gantry) wrote the manifest; "" if unknown.
	Host    string `json:"host,omitempty"`
	User    string `json:"user,omitempty"`
	Version string `json:"version,omitempty"`
	// From is where the plan came from, and Configuration the digest of the file it was made from, "" if
	// unknown.
	From          Origin        `json:"from"`
	Configuration digest.Digest `json:"configuration,omitempty"`
	// Plan and Record are the digests of the JSON of the plan and of the record.
	Plan   digest.Digest `json:"plan"`
	Record digest.Digest `json:"record"`
	// MaxNestedPaths is the limit of path components that repositories in the mirror were named with; 0 is
	// no limit.
	MaxNestedPaths int     `json:"maxNestedPaths,omitempty"`
	Content        Content `json:"content"`

	// Previous is the manifest that the tag of the name had before; "" for the first. It may have no tag.
	Previous digest.Digest `json:"previous,omitempty"`
	// Manifest is the digest of the manifest that the revision was read from.
	Manifest digest.Digest `json:"manifest"`
	// RecordLayer and PlanLayer are the compressed layers.
	RecordLayer ocispec.Descriptor `json:"recordLayer"`
	PlanLayer   ocispec.Descriptor `json:"planLayer"`
}

// An Origin is where a plan came from.
type Origin string

// The origins of plans.
const (
	FromConfiguration Origin = "configuration"
	FromPlan          Origin = "plan"
	FromArchive       Origin = "archive"
)

// Content is a summary of the plan of a revision. Missing is how many images of the plan were not in the mirror
// when the revision was written, and Withheld how many catalogs and releases were not published for that reason.
type Content struct {
	Catalogs int   `json:"catalogs"`
	Packages int   `json:"packages"`
	Releases int   `json:"releases"`
	Images   int   `json:"images"`
	Charts   int   `json:"charts"`
	Files    int   `json:"files"`
	Bytes    int64 `json:"bytes"`
	Missing  int   `json:"missing,omitempty"`
	Withheld int   `json:"withheld,omitempty"`
}

// Tag returns the tag of the revision.
func (r *Revision) Tag() string {
	return fmt.Sprintf("%s.t%d.%s", Tag(r.Name), r.Number, r.Digits())
}

// Digits are the first digits of the digest of what the revision is about: record, plan and how repositories are
// named.
func (r *Revision) Digits() string {
	text := fmt.Sprintf("%s\n%s\n%d\n", r.Record, r.Plan, r.MaxNestedPaths)
	return digest.FromString(text).Encoded()[:digits]
}

// SameContent reports whether two revisions have the same record and plan.
func (r *Revision) SameContent(other *Revision) bool {
	return r.Record == other.Record && r.Plan == other.Plan && r.MaxNestedPaths == other.MaxNestedPaths
}

// ParseRevision returns a revision from its JSON, which this or an earlier version wrote.
func ParseRevision(text []byte) (*Revision, error) {
	r := &Revision{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("reading a revision: %w", err)
	}
	r.Number = cmp.Or(r.Number, r.Turn)
	return r, nil
}

// compareRevisions orders revisions by image set, then by number, then by digits.
func compareRevisions(a, b Revision) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Digits(), b.Digits()))
}
