package setrecord

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// annotation begins the names of annotations.
const annotation = "vnd.gantry.image-set."

const (
	maxManifest = 64 << 10 // bytes
	// maxLayer is the maximum size of a compressed layer in bytes. maxText is the maximum size of its text: the limit of
	// plans.
	maxLayer = 256 << 20
	maxText  = 256 << 20
)

// A field is a value of a revision as an annotation.
type field struct {
	name string
	text string
	// parse sets the value in a revision. Without an annotation, it gets "".
	parse func(string) error
}

// fields are the annotations of a revision. They are the only ones that a manifest of Gantry has, beside the time
// under the name of the OCI image specification. The number has the name turn, since earlier versions read no other.
func (r *Revision) fields() []field {
	c := &r.Content
	return []field{
		{"name", r.Name, parseText(&r.Name, true)},
		{"turn", strconv.Itoa(r.Number), parseNumber(&r.Number, 1)},
		{"runs", strconv.Itoa(r.Runs), parseNumber(&r.Runs, 1)},
		{"since", formatTime(r.Since), parseTime(&r.Since)},
		{"last-run", formatTime(r.LastRun), parseTime(&r.LastRun)},
		{"host", r.Host, parseText(&r.Host, false)},
		{"user", r.User, parseText(&r.User, false)},
		{"version", r.Version, parseText(&r.Version, false)},
		{"from", string(r.From), parseOrigin(&r.From)},
		{"configuration", string(r.Configuration), parseDigest(&r.Configuration, false)},
		{"plan", string(r.Plan), parseDigest(&r.Plan, true)},
		{"record", string(r.Record), parseDigest(&r.Record, true)},
		{"previous", string(r.Previous), parseDigest(&r.Previous, false)},
		{"max-nested-paths", optional(r.MaxNestedPaths), parseNumber(&r.MaxNestedPaths, 0)},
		{"catalogs", optional(c.Catalogs), parseNumber(&c.Catalogs, 0)},
		{"packages", optional(c.Packages), parseNumber(&c.Packages, 0)},
		{"releases", optional(c.Releases), parseNumber(&c.Releases, 0)},
		{"images", optional(c.Images), parseNumber(&c.Images, 0)},
		{"charts", optional(c.Charts), parseNumber(&c.Charts, 0)},
		{"files", optional(c.Files), parseNumber(&c.Files, 0)},
		{"bytes", optional(c.Bytes), parseNumber(&c.Bytes, 0)},
		{"missing", optional(c.Missing), parseNumber(&c.Missing, 0)},
		{"withheld", optional(c.Withheld), parseNumber(&c.Withheld, 0)},
	}
}

// manifest returns the manifest of the revision, the same for equal revisions. The layers must be set.
func (r *Revision) manifest() ([]byte, error) {
	raw, err := artifact(Type, r.LastRun, r.fields(), r.RecordLayer, r.PlanLayer)
	if err == nil {
		_, err = parseManifest(raw) // what is written can be read
	}
	if err != nil {
		return nil, fmt.Errorf("making the manifest of image set %q: %w", r.Name, err)
	}
	return raw, nil
}

// artifact returns the manifest of an artifact with these annotations and layers.
func artifact(artifactType string, created time.Time, fields []field, layers ...ocispec.Descriptor) ([]byte, error) {
	annotations := map[string]string{ocispec.AnnotationCreated: formatTime(created)}
	for _, f := range fields {
		if f.text != "" {
			annotations[annotation+f.name] = f.text
		}
	}
	config := ocispec.DescriptorEmptyJSON
	return json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifactType,
		Config:      ocispec.Descriptor{MediaType: config.MediaType, Digest: config.Digest, Size: config.Size},
		Layers:      layers,
		Annotations: annotations,
	})
}

// parseManifest returns the revision of a manifest, also in the form of manifest.DockerArtifact. Annotations that it does not know are ignored.
func parseManifest(raw []byte) (*Revision, error) {
	t := &Revision{Manifest: digest.FromBytes(raw)}
	if err := parseArtifact(raw, Type, t.fields(), &t.RecordLayer, &t.PlanLayer); err != nil {
		return nil, err
	}
	t.Turn = t.Number
	return t, nil
}

// parseArtifact reads the annotations and layers of an artifact. The plan is the last of its layers.
func parseArtifact(raw []byte, artifactType string, fields []field, layers ...*ocispec.Descriptor) (err error) {
	if len(raw) > maxManifest {
		return fmt.Errorf("its manifest has %d bytes, and the limit is %d", len(raw), maxManifest)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("reading the manifest: %w", err)
	}
	switch {
	case m.ArtifactType != artifactType:
		return advice.New(advice.Failure, "update Gantry; if another program wrote it, remove the tag",
			"it is not a record that this version of Gantry reads: its artifact type is %.100q", m.ArtifactType)
	case len(m.Layers) != len(layers):
		return fmt.Errorf("it has %d layers in place of %d", len(m.Layers), len(layers))
	}
	for _, f := range fields {
		if err := f.parse(m.Annotations[annotation+f.name]); err != nil {
			return fmt.Errorf("annotation %s%s: %w", annotation, f.name, err)
		}
	}
	types := []string{RecordType, PlanType}
	for i, l := range layers {
		if *l, err = parseLayer(&m, i, types[len(types)-len(layers)+i]); err != nil {
			return err
		}
	}
	return nil
}

// parseLayer returns a layer of a manifest, which must have the media type unless the manifest has the form of
// manifest.DockerArtifact.
func parseLayer(m *ocispec.Manifest, i int, mediaType string) (ocispec.Descriptor, error) {
	l := m.Layers[i]
	if l.MediaType != mediaType && (m.MediaType != manifest.DockerImage || l.MediaType != manifest.DockerLayer) {
		return l, fmt.Errorf("layer %d has the media type %.100q and not %s", i+1, l.MediaType, mediaType)
	}
	if err := checkDigest(l.Digest); err != nil {
		return l, fmt.Errorf("layer %d: %w", i+1, err)
	}
	if l.Size < 1 || l.Size > maxLayer {
		return l, fmt.Errorf("layer %d has %d bytes, and the limit is %d", i+1, l.Size, maxLayer)
	}
	return ocispec.Descriptor{MediaType: mediaType, Digest: l.Digest, Size: l.Size}, nil
}

// formatTime returns a time in UTC and full seconds.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// optional returns a number, or "" for 0.
func optional[N int | int64](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

func parseNumber[N int | int64](to *N, least int64) func(string) error {
	return func(s string) error {
		if s == "" && least == 0 {
			*to = 0
			return nil
		}
		n, err := strconv.ParseInt(s, 10, 64)
		most := int64(maxNumber)
		if _, ok := any(*to).(int64); ok {
			most = 1 << 60
		}
		if err != nil || n < least || n > most || strconv.FormatInt(n, 10) != s {
			return fmt.Errorf("%.100q is not a number from %d to %d", s, least, most)
		}
		*to = N(n)
		return nil
	}
}

func parseTime(to *time.Time) func(string) error {
	return func(s string) error {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil || formatTime(t) != s {
			return fmt.Errorf("%.100q is not a time such as 2026-01-31T12:00:00Z", s)
		}
		*to = t
		return nil
	}
}

func parseText(to *string, required bool) func(string) error {
	return func(s string) error {
		if s == "" && required {
			return fmt.Errorf("it is missing")
		}
		if len(s) > maxName || !utf8.ValidString(s) {
			return fmt.Errorf("%.100q is longer than %d bytes, or is not UTF-8", s, maxName)
		}
		for _, r := range s {
			if !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r) {
				return fmt.Errorf("%q has an invisible character", s)
			}
		}
		*to = s
		return nil
	}
}

func parseOrigin(to *Origin) func(string) error {
	return func(s string) error {
		switch o := Origin(s); o {
		case FromConfiguration, FromPlan, FromArchive:
			*to = o
			return nil
		}
		return fmt.Errorf("%.100q is not a configuration, plan or archive", s)
	}
}

func parseDigest(to *digest.Digest, required bool) func(string) error {
	return func(s string) error {
		if s == "" && !required {
			*to = ""
			return nil
		}
		*to = digest.Digest(s)
		return checkDigest(*to)
	}
}

func checkDigest(d digest.Digest) error {
	if d.Validate() != nil || d.Algorithm() != digest.SHA256 {
		return fmt.Errorf("%.100q is not a sha256 digest", string(d))
	}
	return nil
}

// Visible returns a text for a field of a revision, such as Revision.User: without invisible characters, and cut off if
// it is too long.
func Visible(s string) string {
	s = strings.ToValidUTF8(s, "?")
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '?'
		}
		return r
	}, s)
	for len(s) > maxName {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}
