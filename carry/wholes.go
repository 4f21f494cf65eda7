package carry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/registryserver"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan"
)

// Wholes are the images of a plan of which an archive has all content.
type Wholes struct {
	Count    int          // how many they are
	Example  string       // "repository:tag" of one of them that has a tag to read
	Lacking  []string     // sources of images of which content is missing
	Missing  []string     // sources that did not have their image when the plan was made
	HeldBack []plan.Whole // what is there itself and names an image of these two kinds
	Why      error        // that content is missing; nil where none is

	plan     *plan.Plan
	contents *plan.Contents
	left     map[*plan.Image]bool // out
}

// WholeImages are the images that an archive can serve. A catalog or release that
// names an image which is not among them is held back, as it is at a mirror. An archive
// that can serve none for what is missing is an error.
func WholeImages(ctx context.Context, have *archive.Archive) (*Wholes, error) {
	p, err := ReadPlan(ctx, have)
	if err != nil {
		return nil, err
	}
	w := &Wholes{plan: p, left: map[*plan.Image]bool{}}
	if w.contents, err = p.Contents(); err != nil {
		return nil, err
	}
	incomplete := map[plan.Whole]bool{}
	named := func(because []plan.Because) {
		for _, b := range because {
			if whole, ok := b.Whole(); ok {
				incomplete[whole] = true
			}
		}
	}
	for _, m := range p.Missing {
		w.Missing = append(w.Missing, m.Source)
		named(m.Because)
	}
	for i := range p.Images {
		img := &p.Images[i]
		lacks, err := w.lacks(img, have)
		switch {
		case err != nil:
			return nil, err
		case lacks == nil:
			continue
		case w.Why == nil:
			w.Why = lacks
		}
		w.left[img] = true
		w.Lacking = append(w.Lacking, img.Source)
		named(img.Because)
	}
	for i := range p.Images {
		img := &p.Images[i]
		if whole, ok := img.Whole(); ok && incomplete[whole] && !w.left[img] {
			w.left[img] = true
			w.HeldBack = append(w.HeldBack, whole)
		}
		if w.left[img] {
			continue
		}
		w.Count++
		for _, tag := range img.Tags {
			if w.Example == "" && !strings.HasPrefix(tag, "sha256-") {
				w.Example = img.Repository + ":" + tag
			}
		}
	}
	if w.Count == 0 && w.Why != nil {
		return nil, &advisedError{w.Why, "give the folders of the archives that this one builds on, too"}
	}
	w.Lacking, w.Missing = slices.Compact(w.Lacking), slices.Compact(w.Missing)
	return w, nil
}

// lacks is why content of an image cannot be had; nil where all is there.
func (w *Wholes) lacks(img *plan.Image, have *archive.Archive) (why, err error) {
	errLacking := errors.New("lacking")
	look := func(d digest.Digest, size int64) error {
		if why = have.Lacks(ocispec.Descriptor{Digest: d, Size: size}); why != nil {
			return errLacking
		}
		return nil
	}
	err = w.contents.Walk(img.Digest,
		func(m *plan.Manifest) error { return look(m.Digest, m.Size) },
		func(b plan.Blob) error { return look(b.Digest, b.Size) })
	if errors.Is(err, errLacking) {
		err = nil
	}
	return why, err
}

// All are the images as the registry takes them. The lists belong to the loop.
func (w *Wholes) All() iter.Seq[registryserver.Image] {
	return func(yield func(registryserver.Image) bool) {
		var manifests, blobs []ocispec.Descriptor
		for i := range w.plan.Images {
			img := &w.plan.Images[i]
			if w.left[img] {
				continue
			}
			manifests, blobs = manifests[:0], blobs[:0]
			// It was walked before, and without an error.
			_ = w.contents.Walk(img.Digest, func(m *plan.Manifest) error {
				manifests = append(manifests, ocispec.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: m.Size})
				return nil
			}, func(b plan.Blob) error {
				blobs = append(blobs, ocispec.Descriptor{Digest: b.Digest, Size: b.Size})
				return nil
			})
			slices.Reverse(manifests) // the walk ends with the root
			if !yield(registryserver.Image{Repository: img.Repository, Tags: img.Tags, Manifests: manifests, Blobs: blobs}) {
				return
			}
		}
	}
}

// Resources are the manifests that make a cluster pull what is served from address,
// "HOST:PORT".
func (w *Wholes) Resources(address string) (files []resources.File, notes []string, err error) {
	at, err := mirror.ParseDestination("docker://"+address, 0)
	if err == nil && at.Prefix != "" {
		err = fmt.Errorf("there is no %s in front of what is served", at.Prefix)
	}
	if err != nil {
		return nil, nil, err
	}
	names, err := at.Names(w.plan)
	if err != nil {
		return nil, nil, err
	}
	report := &mirror.Report{}
	for img := range w.left {
		report.Failed = append(report.Failed, mirror.Failure{Source: img.Source, Repository: img.Repository})
		if whole, ok := img.Whole(); ok {
			report.Held = append(report.Held, mirror.Held{Catalog: whole.Catalog, Release: whole.Release})
		}
	}
	holding := mirror.Hold(w.plan, names, report, nil)
	files, notes, err = resources.Build(holding.Images, holding.Catalogs, resources.Options{})
	if err != nil {
		return nil, nil, err
	}
	more, err := resources.BuildPlatform(holding.Platform())
	return append(files, more...), notes, err
}
