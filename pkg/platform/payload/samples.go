package payload

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// The image streams of the samples operator are in folders by architecture (cluster-samples-operator,
// Dockerfile): opt/openshift/operator/x86_64/ruby/imagestreams/ruby-rhel.json.
const (
	samplesOperator = "cluster-samples-operator"
	samplesDir      = "opt/openshift/operator"
	streamsDir      = "imagestreams"
)

// Limits on the image streams. A release has about 50 for each architecture.
const (
	maxStreamFile  = 1 << 20 // bytes
	maxStreamFiles = 4096
	maxStreamTags  = 1024
)

// A Sample is an image stream that the samples operator makes in clusters of an architecture.
type Sample struct {
	Name string // "ruby"
	Arch release.Arch
	// Images are the references that its tags import, sorted. Most have a tag.
	Images []string
}

// Samples returns the image streams of the samples operator, sorted by name and architecture. A release
// without that operator has none, and found is false.
func (p *Payload) Samples(ctx context.Context, src image.Reader) (samples []Sample, found bool, err error) {
	at := slices.IndexFunc(p.Components, func(c Component) bool { return slices.Contains(c.Names, samplesOperator) })
	if at < 0 {
		return nil, false, nil
	}
	c := p.Components[at]
	if samples, err = readSamples(ctx, src, c); err != nil {
		return nil, false, fmt.Errorf("reading the samples of release %s from %s: %w", p.Version, c.Ref, err)
	}
	return samples, true, nil
}

func readSamples(ctx context.Context, src image.Reader, c Component) ([]Sample, error) {
	desc, _, err := src.Manifest(ctx, c.Ref, c.Digest)
	if err != nil {
		return nil, err
	}
	img, err := image.Open(ctx, src, c.Ref, desc)
	if err != nil {
		return nil, err
	}
	type key struct {
		name string
		arch release.Arch
	}
	byKey := map[key][]string{}
	files := 0
	err = readTree(ctx, img, samplesDir, func(name string, r io.Reader) error {
		dir, folder, _ := strings.Cut(name, "/")
		if !isSuffix(dir) || !strings.Contains("/"+folder, "/"+streamsDir+"/") || path.Ext(name) != ".json" {
			return nil // a template, or of an architecture that releases do not have
		}
		arch, err := release.ParseArch(dir)
		if err != nil {
			return err
		}
		if files++; files > maxStreamFiles {
			return fmt.Errorf("it has more than %d image streams", maxStreamFiles)
		}
		stream, images, err := readStream(r)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		k := key{stream, arch}
		byKey[k] = append(byKey[k], images...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var samples []Sample
	for k, images := range byKey {
		slices.Sort(images)
		samples = append(samples, Sample{Name: k.name, Arch: k.arch, Images: slices.Compact(images)})
	}
	elements.Sort(samples, func(a, b Sample) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Arch, b.Arch)) })
	return samples, nil
}

// isSuffix reports whether a folder has the name of an architecture.
func isSuffix(dir string) bool {
	return slices.ContainsFunc(release.Arches(), func(a release.Arch) bool { return a != release.Multi && a.Suffix() == dir })
}

// readTree calls each with the regular files below a directory, by their paths below it. The layers that
// have files there are adjacent, so reading ends after the last of them.
func readTree(ctx context.Context, img *image.Image, dir string, each func(name string, r io.Reader) error) error {
	p, view, left := img.Primary(), image.NewView(), layers.NewBudget(layers.MaxUnpacked)
	before := false
	for _, layer := range p.TopDown() {
		has := false
		l := &image.Lister{Dir: dir, Budget: left}
		l.File = func(name string, r io.Reader) error {
			has = true
			if !view.Shows(name) {
				return nil // a layer above removes or replaces it
			}
			return each(strings.TrimPrefix(name, dir+"/"), r)
		}
		found, err := img.List(ctx, p, layer, l)
		if err != nil {
			return err
		}
		if before && !has {
			return nil
		}
		before = before || has
		view.Add(layer, found)
	}
	return nil
}

// readStream returns the name of an ImageStream and the images that its tags import. Tags that refer to
// another tag import nothing.
func readStream(r io.Reader) (name string, images []string, err error) {
	text, err := limited(r, maxStreamFile)
	if err != nil {
		return "", nil, err
	}
	var s imageStream
	if err := json.Unmarshal(text, &s); err != nil {
		return "", nil, err
	}
	switch {
	case s.Kind != "ImageStream":
		return "", nil, fmt.Errorf("kind %.200q, want ImageStream", s.Kind)
	case s.Metadata.Name == "":
		return "", nil, fmt.Errorf("it has no name")
	case len(s.Spec.Tags) > maxStreamTags:
		return "", nil, fmt.Errorf("it has %d tags, more than %d", len(s.Spec.Tags), maxStreamTags)
	}
	for _, tag := range s.Spec.Tags {
		if tag.From.Kind != "DockerImage" {
			continue
		}
		ref, err := reference.Parse(tag.From.Name)
		if err != nil {
			return "", nil, fmt.Errorf("tag %.200q: %w", tag.Name, err)
		}
		if ref.Identifier() == "" {
			ref.Tag = "latest"
		}
		images = append(images, ref.String())
	}
	return s.Metadata.Name, images, nil
}
