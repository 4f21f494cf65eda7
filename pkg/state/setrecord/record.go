package setrecord

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// anyHost stands for the mirror in a record, below which repositories are named.
const anyHost = "mirror.invalid"

// maxValue is the maximum size of one entry of a list in bytes, and maxOthers the number of entries that are
// not images.
const (
	maxValue  = 4 << 20
	maxOthers = 100_000
)

// neutral returns a record without the name of the mirror, and without what changes in every run.
func neutral(r *state.Record, host, prefix string) (*state.Record, error) {
	n := *r
	n.Runs = 0
	if err := n.Rehost(host, prefix, anyHost, ""); err != nil {
		return nil, fmt.Errorf("recording the image set: %w", err)
	}
	return &n, nil
}

// readRecord reads a record for a mirror. All of its repositories are below host and prefix.
func readRecord(r io.Reader, host, prefix string) (*state.Record, error) {
	var record state.Record
	dec := json.NewDecoder(r)
	if err := expect(dec, '{'); err != nil {
		return nil, err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller names the record
		}
		if err = readField(dec, name, &record); err != nil {
			return nil, fmt.Errorf("%.100v: %w", name, err)
		}
	}
	if err := expect(dec, '}'); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is text after its end: %w", err)
	}
	if err := record.Rehost(anyHost, "", host, prefix); err != nil {
		return nil, err //nolint:wrapcheck // the caller names the record
	}
	return &record, nil
}

func readField(dec *json.Decoder, name json.Token, to *state.Record) error {
	switch name {
	case "images":
		return readList(dec, &to.Images, checkImage)
	case "catalogs":
		return readList(dec, &to.Catalogs, checkCatalog)
	case "releases":
		return readList(dec, &to.Releases, checkRelease)
	case "updates":
		return readList(dec, &to.Updates, func(u *release.UpdatePath) error { return checkTexts(u.From, u.To, u.Channel) })
	case "names":
		return readList(dec, &to.Names, func(n *resources.CatalogName) error {
			if n.Name == "" || strings.Trim(n.Name, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" { // part of a file name
				return fmt.Errorf("%.100q is not a name of an object", n.Name)
			}
			return checkTexts(n.Source, n.Place)
		})
	case "imagePolicies":
		return readList(dec, &to.ImagePolicies, (*resources.ImagePolicy).Check)
	case "format":
		if err := readValue(dec, &to.Format); err != nil || to.Format == "" || slices.Contains(manifest.Formats(), string(to.Format)) {
			return err
		}
		return fmt.Errorf("%.100q is unknown", to.Format)
	case "clusters":
		if err := readValue(dec, &to.Clusters); err != nil || to.Clusters == nil {
			return err
		}
		return checkClusters(to.Clusters)
	case "graphData":
		if err := readValue(dec, &to.GraphData); err != nil || to.GraphData == nil {
			return err
		}
		return checkMirrored(*to.GraphData)
	case "selections":
		if err := readValue(dec, &to.Selections); err != nil {
			return err
		}
		for tag, d := range to.Selections {
			if _, err := reference.Parse(tag); err != nil {
				return err //nolint:wrapcheck // it has the tag
			}
			if d != "" {
				if err := checkDigest(d); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var unknown json.RawMessage
	return readValue(dec, &unknown)
}

// readValue reads one value of limited size.
func readValue(dec *json.Decoder, to any) error {
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return err //nolint:wrapcheck // the caller names the field
	}
	if len(raw) > maxValue {
		return fmt.Errorf("it has %d bytes, and the limit is %d", len(raw), maxValue)
	}
	return json.Unmarshal(raw, to) //nolint:wrapcheck // as above
}

// readList reads a list, one checked entry at a time.
func readList[E any](dec *json.Decoder, to *[]E, check func(*E) error) error {
	t, err := dec.Token()
	switch {
	case err != nil:
		return err //nolint:wrapcheck // the caller names the field
	case t == nil: // null
		return nil
	case t != json.Delim('['):
		return fmt.Errorf("it is %.100v and not a list", t)
	}
	for dec.More() {
		var e E
		if err := readValue(dec, &e); err != nil {
			return err
		}
		if err := check(&e); err != nil {
			return err
		}
		images, ok := any(to).(*[]resources.Image)
		if ok && len(*images) > 0 {
			if img, ok := any(&e).(*resources.Image); ok {
				state.ShareTexts(img, &(*images)[len(*images)-1])
			}
		}
		if *to = append(*to, e); !ok && len(*to) > maxOthers {
			return fmt.Errorf("it has more than %d entries", maxOthers)
		}
	}
	return expect(dec, ']')
}

func expect(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	if err == nil && t != want {
		err = fmt.Errorf("found %.100v in place of %v", t, want)
	}
	return err
}

func checkImage(img *resources.Image) error {
	if !slices.Contains([]string{"", "operator", "release", "generic"}, img.Kind) {
		return fmt.Errorf("the kind %.100q is unknown", img.Kind)
	}
	if err := checkReference(img.Source); err != nil {
		return err
	}
	if img.Mirror.Digest == "" { // it is the one of the source
		if img.Source.Digest == "" {
			return fmt.Errorf("%s has no digest", img.Source)
		}
		return checkMirrored(img.Mirror.WithDigest(img.Source.Digest))
	}
	return checkMirrored(img.Mirror)
}

func checkCatalog(c *resources.Catalog) error {
	if err := checkTexts(c.Source); err != nil {
		return err
	}
	if err := checkVisible(c.Target, c.TemplateName, c.ClusterCatalogTemplateName, c.ConfigsDir, c.VariantOf); err != nil {
		return err
	}
	return checkMirrored(c.Mirror)
}

func checkRelease(r *state.Release) error {
	if err := checkTexts(r.Version, string(r.Arch), r.Source); err != nil {
		return err
	}
	if err := checkVisible(append(slices.Clone(r.Channels), r.URL)...); err != nil {
		return err
	}
	for _, s := range r.Signatures {
		if err := checkDigest(s.Digest); err != nil {
			return err
		}
	}
	return checkMirrored(r.Mirror)
}

func checkClusters(c *state.Clusters) error {
	if len(c.Operators)+len(c.Releases) > maxOthers {
		return fmt.Errorf("it has more than %d entries", maxOthers)
	}
	for _, o := range c.Operators {
		if err := checkTexts(o.Package, o.Bundle+o.Version); err != nil {
			return err
		}
		if err := checkVisible(o.Channel); err != nil {
			return err
		}
		if !slices.Contains([]string{"", state.OLMClassic, state.OLMV1}, o.OLM) {
			return fmt.Errorf("the generation %.100q of OLM is unknown", o.OLM)
		}
	}
	for _, r := range c.Releases {
		if err := checkTexts(r.Version); err != nil {
			return err
		}
		if err := checkVisible(r.Channel, string(r.Arch)); err != nil {
			return err
		}
	}
	return nil
}

// checkMirrored returns an error unless a reference is in the mirror, and has a tag or digest.
func checkMirrored(ref reference.Reference) error {
	if err := checkReference(ref); err != nil {
		return err
	}
	if ref.Host != anyHost {
		return fmt.Errorf("%s is not in the mirror", ref)
	}
	if ref.Tag == "" && ref.Digest == "" {
		return fmt.Errorf("%s has neither a tag nor a digest", ref)
	}
	return nil
}

// checkReference returns an error unless a reference has the form that its text is parsed to.
func checkReference(ref reference.Reference) error {
	parsed, err := reference.Parse(ref.String())
	if err != nil {
		return err //nolint:wrapcheck // it has the text
	}
	if parsed != ref || ref.Digest != "" && !reference.IsKnownDigest(ref.Digest) {
		return fmt.Errorf("%.300q is not a complete image reference", ref.String())
	}
	return nil
}

// checkTexts is checkVisible for texts that are required.
func checkTexts(texts ...string) error {
	if slices.Contains(texts, "") {
		return fmt.Errorf("an entry is incomplete")
	}
	return checkVisible(texts...)
}

// checkVisible returns an error if a text has control characters.
func checkVisible(texts ...string) error {
	for _, s := range texts {
		if strings.ContainsFunc(s, unicode.IsControl) {
			return fmt.Errorf("%.300q has a control character", s)
		}
	}
	return nil
}
