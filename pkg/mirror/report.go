package mirror

import (
	"errors"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A Report is the result of a run. Its lists are sorted.
type Report struct {
	// Images is how many images the plan has, Present how many of them were already at the
	// destination, and Copied how many were copied.
	Images  int `json:"images"`
	Present int `json:"present"`
	Copied  int `json:"copied"`
	// New are the images that were copied, in the order of the plan.
	New []*plan.Image `json:"-"`
	// Failed are the images that are not at the destination, including those that are missing at
	// the source.
	Failed []Failure `json:"failed,omitempty"`
	// Withheld are the catalogs and releases that were not published because images that they name
	// failed.
	Withheld []Withheld `json:"held,omitempty"`
	// Excluded are packages that were removed from their catalogs because images that they name
	// failed. Run excludes none; see [Job].
	Excluded []Excluded `json:"leftOut,omitempty"`

	// Unfinished means that the destination does not exist under its final name because images
	// failed: archives and layouts are complete or do not exist.
	Unfinished bool `json:"unfinished,omitempty"`

	BlobsCopied  int64 `json:"blobsCopied"`
	BytesCopied  int64 `json:"bytesCopied"`
	BlobsMounted int64 `json:"blobsMounted"`
	BytesMounted int64 `json:"bytesMounted"` // not sent because they were mounted
	BlobsFound   int64 `json:"blobsFound"`
	Manifests    int64 `json:"manifests"`
	// Blobs is which blobs of images that were already present were checked. It is nil if there
	// are none, or if the destination is not a registry.
	Blobs *CheckedBlobs `json:"blobs,omitempty"`
}

// A Failure is an image that is not at the destination, and why.
type Failure struct {
	Source string `json:"source"`
	// Repository is where it should be; "" if the image is missing at the source.
	Repository string `json:"repository,omitempty"`
	Reason     string `json:"reason"`
	// Err is the error of Reason; nil if only its text is known.
	Err error `json:"-"`
}

// Withheld is a catalog or release that was not published, and the missing images that it names.
type Withheld struct {
	// One of these is set, to the name in the plan.
	Catalog string   `json:"catalog,omitempty"`
	Release string   `json:"release,omitempty"`
	Missing []string `json:"missing"`
	// Reason is why it could not be published without the packages that name them, if that was
	// requested.
	Reason string `json:"reason,omitempty"`
}

// Publishable returns what was withheld.
func (h Withheld) Publishable() plan.Publishable {
	return plan.Publishable{Catalog: h.Catalog, Release: h.Release}
}

// Excluded is a package that was removed from a catalog, and the missing images that it names.
type Excluded struct {
	Catalog string   `json:"catalog"`
	Package string   `json:"package"`
	Missing []string `json:"missing"`
}

// Complete reports whether everything in the plan is at the destination.
func (r *Report) Complete() bool { return len(r.Failed)+len(r.Withheld)+len(r.Excluded) == 0 }

// then returns the report of a run and of one that followed it, with a plan p that excludes failed
// images. whole means that p was all that was left of the first plan, not only what the first run
// had not copied yet.
func (r *Report) then(next *Report, p *plan.Plan, whole bool) *Report {
	all := *r
	all.Unfinished = next.Unfinished
	// The second run found what the first one had copied.
	all.Copied, all.Present, all.Manifests, all.New = next.Copied, next.Present, next.Manifests, next.New
	if !whole {
		all.Copied, all.Present = r.Copied+next.Copied, r.Present+next.Present
		all.New = slices.Concat(r.New, next.New)
		all.BlobsFound += next.BlobsFound
		all.Manifests += r.Manifests
	}
	all.BlobsCopied += next.BlobsCopied
	all.BytesCopied += next.BytesCopied
	all.BlobsMounted += next.BlobsMounted
	all.BytesMounted += next.BytesMounted
	again := func(f Failure) bool {
		return slices.ContainsFunc(p.Images, func(img plan.Image) bool { return img.Source == f.Source && img.Repository == f.Repository })
	}
	all.Failed = slices.DeleteFunc(slices.Clone(r.Failed), again)
	reported := map[string]bool{}
	for _, f := range all.Failed {
		reported[f.Source] = true
	}
	for _, f := range next.Failed {
		if f.Repository != "" || !reported[f.Source] {
			all.Failed = append(all.Failed, f)
		}
	}
	all.Withheld = slices.DeleteFunc(slices.Clone(r.Withheld), func(h Withheld) bool {
		return slices.ContainsFunc(p.Images, func(img plan.Image) bool {
			whole, ok := img.Publishable()
			return ok && whole == h.Publishable()
		})
	})
	all.Withheld = append(all.Withheld, next.Withheld...)
	return &all
}

// UpToDate reports whether the run had nothing to do.
func (r *Report) UpToDate() bool {
	return r.Complete() && r.BlobsCopied+r.BlobsMounted+r.Manifests == 0
}

func (r *run) report(p *plan.Plan) *Report {
	rep := &Report{
		Images:       len(p.Images) + len(p.Missing),
		BlobsCopied:  r.count.copied.Load(),
		BytesCopied:  r.count.copiedBytes.Load() + r.count.manifestBytes.Load(),
		BlobsMounted: r.count.mounted.Load(),
		BytesMounted: r.count.mountedBytes.Load(),
		BlobsFound:   r.count.found.Load(),
		Manifests:    r.count.manifests.Load(),
		Blobs:        r.checked,
	}
	for _, m := range p.Missing {
		rep.Failed = append(rep.Failed, Failure{Source: m.Source, Reason: m.Message, Err: m.Err()})
	}
	for _, img := range r.images {
		switch {
		case img.present:
			rep.Present++
		case errors.Is(img.err, errWithheld):
			missing := slices.Sorted(slices.Values(img.ensureWaits().missingImages))
			whole, _ := img.Publishable()
			rep.Withheld = append(rep.Withheld, Withheld{Catalog: whole.Catalog, Release: whole.Release, Missing: slices.Compact(missing)})
		case img.err != nil:
			rep.Failed = append(rep.Failed, Failure{Source: img.Source, Repository: img.Repository, Reason: advice.Text(img.err), Err: img.err})
		case img.finished:
			rep.Copied++
			rep.New = append(rep.New, img.Image)
		}
	}
	return rep
}
