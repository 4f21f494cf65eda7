package airgap

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/httpserver/registryserver"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// ServableImages are the images of a plan whose content is complete in an archive.
type ServableImages struct {
	Count      int                // number of images
	Example    string             // "repository:tag" of one of them
	Incomplete []string           // sources of images with missing content
	Missing    []string           // sources of images that were unavailable when the plan was made
	Withheld   []plan.Publishable // complete, but naming an image of these two kinds
	Cause      error              // why content is missing; nil if none is

	plan     *plan.Plan
	contents *plan.Contents
	excluded map[*plan.Image]bool // not served
}

// FindServable finds the images that an archive can serve. A catalog or release that names an
// incomplete image is withheld, as in a mirror. If content is missing and no image can be served,
// FindServable returns the reason as an error.
func FindServable(ctx context.Context, have *archive.Archive) (*ServableImages, error) {
	p, err := ReadPlan(ctx, have)
	if err != nil {
		return nil, err
	}
	w := &ServableImages{plan: p, excluded: map[*plan.Image]bool{}}
	if w.contents, err = p.Contents(); err != nil {
		return nil, err
	}
	incomplete := map[plan.Publishable]bool{}
	named := func(because []plan.Reason) {
		for _, b := range because {
			if whole, ok := b.Publishable(); ok {
				incomplete[whole] = true
			}
		}
	}
	for _, m := range p.Missing {
		w.Missing = append(w.Missing, m.Source)
		named(m.Reasons)
	}
	for i := range p.Images {
		img := &p.Images[i]
		reason, err := w.missingContent(img, have)
		switch {
		case err != nil:
			return nil, err
		case reason == nil:
			continue
		case w.Cause == nil:
			w.Cause = reason
		}
		w.excluded[img] = true
		w.Incomplete = append(w.Incomplete, img.Source)
		named(img.Reasons)
	}
	for i := range p.Images {
		img := &p.Images[i]
		if whole, ok := img.Publishable(); ok && incomplete[whole] && !w.excluded[img] {
			w.excluded[img] = true
			w.Withheld = append(w.Withheld, whole)
		}
		if w.excluded[img] {
			continue
		}
		w.Count++
		for _, tag := range img.Tags {
			if w.Example == "" && !strings.HasPrefix(tag, "sha256-") {
				w.Example = img.Repository + ":" + tag
			}
		}
	}
	if w.Count == 0 && w.Cause != nil {
		return nil, advice.Wrap(advice.Mismatch, w.Cause, "name the folders of the archives that this one builds on, too")
	}
	w.Incomplete, w.Missing = slices.Compact(w.Incomplete), slices.Compact(w.Missing)
	return w, nil
}

// missingContent returns why content of an image is unavailable, or nil if everything is present.
func (w *ServableImages) missingContent(img *plan.Image, have *archive.Archive) (why, err error) {
	errIncomplete := errors.New("incomplete")
	look := func(d digest.Digest, size int64) error {
		desc := ocispec.Descriptor{Digest: d, Size: size}
		if why = have.CheckContent(desc); why == nil {
			why = missingBases(have, desc)
		}
		if why != nil {
			return errIncomplete
		}
		return nil
	}
	err = w.contents.Walk(img.Digest,
		func(m *plan.Manifest) error { return look(m.Digest, m.Size) },
		func(b plan.Blob) error { return look(b.Digest, b.Size) })
	if errors.Is(err, errIncomplete) {
		err = nil
	}
	return why, err
}

// Content iterates over the content of the plan.
func (w *ServableImages) Content() iter.Seq[ocispec.Descriptor] { return mirror.Content(w.plan) }

// All iterates over the images in the form that the registry takes. The slices of an image are
// valid until the next one.
func (w *ServableImages) All() iter.Seq[registryserver.Image] {
	return func(yield func(registryserver.Image) bool) {
		var manifests, blobs []ocispec.Descriptor
		for i := range w.plan.Images {
			img := &w.plan.Images[i]
			if w.excluded[img] {
				continue
			}
			manifests, blobs = manifests[:0], blobs[:0]
			// FindServable walked it without an error.
			_ = w.contents.Walk(img.Digest, func(m *plan.Manifest) error {
				manifests = append(manifests, ocispec.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: m.Size})
				return nil
			}, func(b plan.Blob) error {
				blobs = append(blobs, ocispec.Descriptor{Digest: b.Digest, Size: b.Size})
				return nil
			})
			slices.Reverse(manifests) // the walk ends with the root manifest
			if !yield(registryserver.Image{Repository: img.Repository, Tags: img.Tags, Manifests: manifests, Blobs: blobs}) {
				return
			}
		}
	}
}

// Name returns the name of the image set.
func (w *ServableImages) Name() string { return w.plan.Name }

// Resources returns the manifests that make a cluster pull the served images from address,
// "HOST:PORT". suffix is the one of resources.Options, and earlier are the names of manifests that were
// written before: catalogs keep the names that they have there.
func (w *ServableImages) Resources(address, suffix string, earlier []string) (files []resources.File, notes []string, err error) {
	at, err := mirror.ParseRegistryPath("docker://"+address, 0)
	if err == nil && at.Prefix != "" {
		err = advice.New(advice.Input, "give HOST:PORT only", "images are served without a prefix, and %s has the prefix %s", address, at.Prefix)
	}
	if err != nil {
		return nil, nil, err
	}
	names, err := at.Repositories(w.plan)
	if err != nil {
		return nil, nil, err
	}
	report := &mirror.Report{}
	for img := range w.excluded {
		report.Failed = append(report.Failed, mirror.Failure{Source: img.Source, Repository: img.Repository})
		if whole, ok := img.Publishable(); ok {
			report.Withheld = append(report.Withheld, mirror.Withheld{Catalog: whole.Catalog, Release: whole.Release})
		}
	}
	record := mirror.NewRecord(w.plan, names, report, nil)
	saved, err := resources.NamesInFiles(record.Catalogs, nil, earlier)
	if err != nil {
		return nil, nil, err
	}
	if record.Catalogs, _, err = resources.NameCatalogs(record.Catalogs, saved); err != nil {
		return nil, nil, err
	}
	files, notes, err = resources.Build(record.Images, record.Catalogs, resources.Options{Suffix: suffix})
	if err != nil {
		return nil, nil, err
	}
	platform := record.Platform()
	platform.Suffix = suffix
	more, err := resources.BuildPlatform(platform)
	return append(files, more...), notes, err
}
