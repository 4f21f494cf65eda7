package build

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Sources are what a plan's content is read from, and where the images that are built for it are stored.
type Sources struct {
	Images image.Reader
	Files  Files
	Store  Store
	// Databases reads SQLite indexes. Snapshots cache catalogs that were read before. Tags lists the
	// tags of a catalog's repository; see [source.From]. All may be nil.
	Databases source.Databases
	Snapshots source.Snapshots
	Tags      source.Tags
	// TagLists lists the tags that rules for additional images select from. It may be nil if the
	// configuration has no such rule.
	TagLists TagLists
	// Attachments finds signatures and other referrers of images. Without it, only the signatures of
	// platform releases are found, by name.
	Attachments Attachments
	// Releases provides update graphs and signatures. It may be nil if the configuration has no
	// platform releases.
	Releases ReleaseSource
	// Repositories and Renderer provide Helm charts. They may be nil if the configuration has none.
	Repositories ChartRepositories
	Renderer     ChartRenderer
	// Downloads finds out about files. It may be nil if the configuration has none.
	Downloads Downloads

	// uncached is Images without the tag cache.
	uncached image.Reader
}

// withTagCache returns sources that resolve each tag only once.
func (s Sources) withTagCache() Sources {
	s.uncached, s.Images = s.Images, localImages{&tagCache{Reader: s.Images}}
	return s
}

// Options change how a plan is made.
type Options struct {
	// Jobs is the number of manifests to read at the same time; 0 means 16.
	Jobs int
	// Progress is called, from several goroutines, with the number of images that were looked up
	// and the number of all images. It may be nil.
	Progress func(done, images int)
	Log      *slog.Logger // nil means none
	// Warn is called at once with warnings that a user who does not read the plan's notes has to
	// see. The notes contain them too. It may be nil.
	Warn func(text string)
	// Installed are operators that clusters run, in addition to those in the configuration. Each
	// applies to every catalog that has its package. If the package is unknown, Identify finds it.
	Installed []installed.Operator
	// Clusters are clusters that need an update path to the releases of the configuration.
	Clusters []Cluster
	// Now is the time that ages count back from, at the midnight (UTC) that its day began with.
	Now time.Time
	// MinAge leaves out content that was created less than so many days before that: bundles, releases, versions
	// of charts, and images that rules for tags select; additional images that are named by a tag are missing. Zero leaves out nothing.
	MinAge int
	// IgnoreReleaseSignature accepts release payloads without a valid signature.
	IgnoreReleaseSignature bool
	// RemoveSignatures leaves out signatures and other referrers of images.
	RemoveSignatures bool
	// Earlier returns the last plan of the same configuration, and when it was written; nil if none. If an image has the
	// same tags of cosign as in that plan, one of them is requested again, and all if that one moved, or after a week. It
	// is called at most once, and only if the plan may save requests. Without it, all tags are requested.
	Earlier func() (*plan.Plan, time.Time)
	// Format is what images are converted to: the plan has no other media types. "" keeps all as they are.
	Format manifest.Format
	// TakeImages permits Plan to remove the additional images from the configuration once it has read them: many take much memory.
	TakeImages bool
	// Packages limits Select and Reselect to some packages; nil means all. Of a catalog that is
	// selected completely, the other packages are only outlined, unless the configuration asks for
	// dependencies, which may need any package. Plan ignores it.
	Packages func(pkg string) bool
}

// defaultJobs is the number of manifests that are read at the same time by default.
const defaultJobs = 16

// withoutProgress returns the options for images that the progress does not count.
func (o Options) withoutProgress() Options {
	o.Progress = nil
	return o
}

func (o Options) withDefaults() Options {
	if o.Jobs <= 0 {
		o.Jobs = defaultJobs
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}
