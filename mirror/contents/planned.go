package contents

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// A File is a file in a mirror or an archive.
type File struct {
	Place string `json:"place"`
	site.MirroredFile
	Origin string `json:"origin"` // its address or path
	// Stored has the size of its artifact, which is the file and a manifest.
	Stored Stored `json:"stored"`
}

// A Chart is a Helm chart in a mirror or an archive.
type Chart struct {
	Place      string        `json:"place"`
	Name       string        `json:"name"`
	Version    string        `json:"chartVersion"`
	Origin     string        `json:"origin"` // the address of its repository, or its path
	Image      string        `json:"image"`  // its "repository:tag", with the host if Place is a mirror
	Digest     digest.Digest `json:"digest"`
	Provenance bool          `json:"provenance,omitempty"` // it has the signature of its publisher
	Images     int           `json:"images"`               // that the rendered chart names
	Stored                   // the chart with these images
}

// A Release is a platform release in a mirror or an archive.
type Release struct {
	Place      string          `json:"place"`
	Product    release.Product `json:"product"`
	Version    string          `json:"release"`
	Arch       release.Arch    `json:"arch"`
	Channels   []string        `json:"channels,omitempty"`   // that it was selected from
	Image      string          `json:"image"`                // its "repository:tag", with the host if Place is a mirror
	Digest     digest.Digest   `json:"digest"`               // "" in a mirror without records, whose signatures and images are unknown
	Signatures int             `json:"signatures"`           // of the payload
	Unverified bool            `json:"unverified,omitempty"` // they were not checked, as requested
	Images     int             `json:"images"`
	Stored                     // the payload with its images
}

// Files lists files by name and origin.
func Files(ctx context.Context, o Options) (*List, error) {
	list := &List{Version: 1, Files: []File{}}
	err := o.eachStock(ctx, "files", func(s *placedStock, at *presence, matches *matcher) {
		for _, f := range s.plan.Files {
			if !matches.names(f.Name, f.Origin) {
				continue
			}
			images := s.artifact(plan.FileImage, f.Digest)
			list.Files = append(list.Files, File{Place: s.place, MirroredFile: site.NewMirroredFile(f), Origin: f.Origin, Stored: s.at(at, images)})
		}
	})
	return list.unless(err)
}

// Charts lists charts by name and origin.
func Charts(ctx context.Context, o Options) (*List, error) {
	list := &List{Version: 1, Charts: []Chart{}}
	err := o.eachStock(ctx, "charts", func(s *placedStock, at *presence, matches *matcher) {
		for _, c := range s.plan.Charts {
			if !matches.names(c.Name, c.Origin) {
				continue
			}
			named := s.because(func(r plan.Reason) bool { return r.Chart == c.String() }, "")
			named = slices.DeleteFunc(named, func(img *plan.Image) bool { return img.Kind == plan.ChartImage })
			list.Charts = append(list.Charts, Chart{
				Place: s.place, Name: c.Name, Version: c.Version, Origin: c.Origin, Image: s.name(c.Repository) + ":" + c.Tag, Digest: c.Digest, Provenance: c.Provenance,
				Images: len(named), Stored: s.at(at, append(s.artifact(plan.ChartImage, c.Digest), named...)),
			})
		}
	})
	return list.unless(err)
}

// Releases lists platform releases by version and name: 4.20.5-x86_64.
func Releases(ctx context.Context, o Options) (*List, error) {
	list := &List{Version: 1, Releases: []Release{}}
	err := o.eachPlanned(ctx, "releases", func(s *placedStock, at *presence, matches *matcher) {
		for i := range s.plan.Releases {
			r := &s.plan.Releases[i]
			if !matches.names(r.Name(), r.Version) {
				continue
			}
			images := s.because(func(because plan.Reason) bool { return because.Release == r.Name() }, "")
			out := Release{
				Place: s.place, Product: r.Product, Version: r.Version, Arch: r.Arch, Image: s.name(r.Repository) + ":" + r.Tag, Digest: r.Digest,
				Signatures: len(r.OwnSignatures()), Unverified: r.Unverified, Images: len(images), Stored: s.at(at, images),
			}
			for _, why := range r.Reasons {
				out.Channels = with(out.Channels, why.Channel)
			}
			list.Releases = append(list.Releases, out)
		}
	}, func(f *foundMirror, matches *matcher) {
		for _, r := range f.releases() {
			if matches.names(r.Version+"-"+r.Arch.Suffix(), r.Version) {
				list.Releases = append(list.Releases, r)
			}
		}
	})
	return list.unless(err)
}

// eachStock calls do for the plans of all mirrors and archives. object is what is listed.
func (o *Options) eachStock(ctx context.Context, object string, do func(*placedStock, *presence, *matcher)) error {
	return o.eachPlanned(ctx, object, do, nil)
}

// eachPlanned is eachStock, and calls unplanned for mirrors without records.
func (o *Options) eachPlanned(ctx context.Context, object string, do func(*placedStock, *presence, *matcher), unplanned func(*foundMirror, *matcher)) error {
	in, err := o.open(ctx, object, true)
	if err != nil {
		return err
	}
	defer in.Close()
	matches := o.matcher()
	for i := range in.stocks {
		do(&in.stocks[i], in.at, matches)
	}
	for _, f := range in.found {
		unplanned(f, matches)
	}
	matches.noteNone(in.env, object)
	return nil
}

// name returns the name of a repository: with the host of a mirror.
func (s *placedStock) name(repository string) string {
	if s.named == nil {
		return repository
	}
	return s.named(repository)
}

// because returns the images that are there for a reason, and the image of the catalog with a name.
func (s *placedStock) because(reason func(plan.Reason) bool, catalog string) (found []*plan.Image) {
	for i := range s.plan.Images {
		img := &s.plan.Images[i]
		take := catalog != "" && img.Catalog == catalog
		for _, r := range img.Reasons {
			take = take || reason(r)
		}
		if take {
			found = append(found, img)
		}
	}
	return found
}

// artifact returns the image of a kind with a digest.
func (s *placedStock) artifact(kind plan.ImageKind, d digest.Digest) (found []*plan.Image) {
	for i := range s.plan.Images {
		if img := &s.plan.Images[i]; img.Kind == kind && img.Digest == d {
			return []*plan.Image{img}
		}
	}
	return nil
}

// at returns what is known of images, and whether a mirror has them if mirrored is not nil.
func (s *placedStock) at(mirrored *presence, images []*plan.Image) Stored {
	out := s.of(images...)
	if mirrored != nil {
		out.At = mirrored.ofImages(images)
	}
	return out
}
