package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// maxPlan is the largest plan that is read, in bytes: many times what 50,000
// images need.
const maxPlan = 1 << 30

// JSON is the plan as it is written to a file: indented, sorted, the same bytes
// for the same plan.
func (p *Plan) JSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("writing plan: %w", err)
	}
	return b.Bytes(), nil
}

// Read reads what JSON wrote. Unknown fields, another kind or version, and
// content that the plan refers to but does not hold are errors.
func Read(r io.Reader) (*Plan, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPlan+1))
	if err != nil {
		return nil, fmt.Errorf("reading plan: %w", err)
	}
	if len(text) > maxPlan {
		return nil, fmt.Errorf("reading plan: it is larger than %d MiB", maxPlan>>20)
	}
	var head struct {
		Kind    string `json:"kind"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("reading plan: it is not JSON, as gantry plan -o writes it (%w); a configuration is given with -c", err)
	}
	if head.Kind != Kind {
		return nil, fmt.Errorf("reading plan: its kind is %q, not %s: give a file that gantry plan -o wrote", head.Kind, Kind)
	}
	if head.Version != Version {
		return nil, fmt.Errorf("reading plan: it has version %d, this gantry reads %d: make the plan again, or use the gantry that made it", head.Version, Version)
	}
	p := &Plan{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(p); err != nil {
		return nil, fmt.Errorf("reading plan: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading plan: there is more text after its end")
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("reading plan: %w", err)
	}
	return p, nil
}

// check holds what readers of a plan rely on.
func (p *Plan) check() error {
	c, err := p.Contents()
	if err != nil {
		return err
	}
	for _, img := range p.Images {
		if !reference.IsPath(img.Repository) {
			return fmt.Errorf("image %s: %q is not a repository path", img.Source, img.Repository)
		}
		if len(img.Tags) == 0 {
			return fmt.Errorf("image %s has no tag", img.Source)
		}
		for _, t := range img.Tags {
			if !reference.IsTag(t) {
				return fmt.Errorf("image %s: %q is not a tag", img.Source, t)
			}
		}
		size, err := c.size(img.Digest)
		if err != nil {
			return fmt.Errorf("image %s: %w", img.Source, err)
		}
		if img.Size != size {
			return fmt.Errorf("image %s: its size is %d, but its manifests and blobs have %d bytes: the plan was altered, make it again", img.Source, img.Size, size)
		}
	}
	if got, want := p.Totals, p.count(); got != want {
		return fmt.Errorf("its totals are %s, but it holds %s: the plan was altered, make it again", got, want)
	}
	if !slices.IsSortedFunc(p.Images, compareImages) {
		return errors.New("its images are not in order")
	}
	for _, cat := range p.Catalogs {
		if !slices.ContainsFunc(p.Images, func(img Image) bool {
			return img.Catalog == cat.Name() && img.Kind == CatalogImage && img.Digest == cat.Digest
		}) {
			return fmt.Errorf("catalog %s has no image in the plan", cat.Name())
		}
	}
	for _, img := range p.Images {
		if (img.Kind == CatalogImage) != slices.ContainsFunc(p.Catalogs, func(cat Catalog) bool { return cat.Name() == img.Catalog }) {
			return fmt.Errorf("image %s is not that of a catalog in the plan", img.Source)
		}
	}
	return checkPlaces(p.Images)
}
