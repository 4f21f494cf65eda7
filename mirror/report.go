package mirror

import (
	"errors"
	"slices"

	"github.com/gantry-mirror/gantry/plan"
)

// A Report says what a run did and what it could not do. Its lists are sorted.
type Report struct {
	// Images is how many images the plan has, Present how many of them were
	// found at the destination, Copied how many arrived.
	Images  int `json:"images"`
	Present int `json:"present"`
	Copied  int `json:"copied"`
	// Failed are the images that are not at the destination, those among them
	// that the source did not even give to the plan.
	Failed []Failure `json:"failed,omitempty"`
	// Held are the catalogs and releases that were not published, since images
	// that they name are among Failed.
	Held []Held `json:"held,omitempty"`
	// LeftOut are packages that went from their catalogs, since images that they
	// name are among Failed. Run leaves none out; see [Report.Then].
	LeftOut []LeftOut `json:"leftOut,omitempty"`

	// Unfinished says that nothing stands at the destination under its final
	// name, since images failed: an archive or a layout is whole or not there.
	Unfinished bool `json:"unfinished,omitempty"`

	BlobsCopied  int64 `json:"blobsCopied"`
	BytesCopied  int64 `json:"bytesCopied"`
	BlobsMounted int64 `json:"blobsMounted"`
	BytesMounted int64 `json:"bytesMounted"` // saved by mounting
	BlobsFound   int64 `json:"blobsFound"`
	Manifests    int64 `json:"manifests"`
}

// A Failure is an image that is not at the destination, and why.
type Failure struct {
	Source string `json:"source"`
	// Repository is where it should be; "" where the source did not give it.
	Repository string `json:"repository,omitempty"`
	Reason     string `json:"reason"`
	// Err is the error behind Reason; nil where only its text is known.
	Err error `json:"-"`
}

// Held is a catalog or a release that was held back and the images it waits for.
type Held struct {
	// One of these is set, to the name that the plan has.
	Catalog string   `json:"catalog,omitempty"`
	Release string   `json:"release,omitempty"`
	Missing []string `json:"missing"`
	// Reason is why it could not be published without the packages that name
	// them, where that was asked for.
	Reason string `json:"reason,omitempty"`
}

// Whole is what was held back.
func (h Held) Whole() plan.Whole { return plan.Whole{Catalog: h.Catalog, Release: h.Release} }

// LeftOut is a package that went from a catalog, and the images that it names
// and that are missing.
type LeftOut struct {
	Catalog string   `json:"catalog"`
	Package string   `json:"package"`
	Missing []string `json:"missing"`
}

// Complete reports whether everything that was planned is at the destination.
func (r *Report) Complete() bool { return len(r.Failed)+len(r.Held)+len(r.LeftOut) == 0 }

// then is the report of a run and of one that followed it, of a plan that had
// less where images had failed. whole says that the second plan was all that was
// left of the first, and not only what the first run had not brought yet.
func (r *Report) then(next *Report, p *plan.Plan, whole bool) *Report {
	all := *r
	all.Unfinished = next.Unfinished
	// A whole plan that was carried out again finds what came before.
	all.Copied, all.Present, all.Manifests = next.Copied, next.Present, next.Manifests
	if !whole {
		all.Copied, all.Present = r.Copied+next.Copied, r.Present+next.Present
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
	told := map[string]bool{}
	for _, f := range all.Failed {
		told[f.Source] = true
	}
	for _, f := range next.Failed {
		if f.Repository != "" || !told[f.Source] {
			all.Failed = append(all.Failed, f)
		}
	}
	all.Held = slices.DeleteFunc(slices.Clone(r.Held), func(h Held) bool {
		return slices.ContainsFunc(p.Images, func(img plan.Image) bool {
			whole, ok := img.Whole()
			return ok && whole == h.Whole()
		})
	})
	all.Held = append(all.Held, next.Held...)
	return &all
}

// Nothing reports whether the run had nothing to do.
func (r *Report) Nothing() bool { return r.Complete() && r.BlobsCopied+r.BlobsMounted+r.Manifests == 0 }

func (r *run) report(p *plan.Plan) *Report {
	rep := &Report{
		Images:       len(p.Images) + len(p.Missing),
		BlobsCopied:  r.count.copied.Load(),
		BytesCopied:  r.count.copiedBytes.Load() + r.count.manifestBytes.Load(),
		BlobsMounted: r.count.mounted.Load(),
		BytesMounted: r.count.mountedBytes.Load(),
		BlobsFound:   r.count.found.Load(),
		Manifests:    r.count.manifests.Load(),
	}
	for _, m := range p.Missing {
		rep.Failed = append(rep.Failed, Failure{Source: m.Source, Reason: m.Reason, Err: m.Err()})
	}
	for _, img := range r.images {
		switch {
		case img.present:
			rep.Present++
		case errors.Is(img.err, errHeld):
			slices.Sort(img.refused)
			whole, _ := img.Whole()
			rep.Held = append(rep.Held, Held{Catalog: whole.Catalog, Release: whole.Release, Missing: slices.Compact(img.refused)})
		case img.err != nil:
			rep.Failed = append(rep.Failed, Failure{Source: img.Source, Repository: img.Repository, Reason: img.err.Error(), Err: img.err})
		case img.done:
			rep.Copied++
		}
	}
	return rep
}
