package contents

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/draft"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/search"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// A foundMirror is a mirror without records, with what its registry lists.
type foundMirror struct {
	place  string
	target *site.RegistryDestination
	*search.Listing
}

// openFound searches a mirror that has no records, for a list of objects.
func (in *opened) openFound(ctx context.Context, o *Options, t *site.RegistryDestination, place, object string) error {
	if object == "files" || object == "charts" {
		return env.InputHint("run gantry mirror to it, which writes a record; gantry list images "+place+" lists its tags", "%s has no record of an image set, so that its %s are unknown", t, object)
	}
	found, err := search.List(ctx, in.env, t, o.Workspace)
	if err != nil {
		return err
	}
	if len(found.Catalogs) == 0 && object != "images" && object != "releases" || len(found.Tags) == 0 {
		hint := "check the prefix; a catalog is listed by its image, docker://" + t.Host + "/REPOSITORY:TAG"
		if !found.Complete {
			hint = "name a catalog by its image, such as docker://" + t.Repository("redhat/redhat-operator-index").String() + ":v4.20"
		}
		return env.InputHint(hint, "%s has no record of an image set, and no %s were found in its registry", t, object)
	}
	in.env.Noticef("%s has no record of an image set: what its registry lists is shown", t)
	f := &foundMirror{place, t, found}
	in.found = append(in.found, f)
	for _, c := range found.Catalogs {
		in.catalogs = append(in.catalogs, openCatalog{name: c.Image, place: place, found: f, read: func(ctx context.Context, options catalog.Options) (*catalog.Catalog, error) {
			return in.sources.Read(ctx, env.RegistryScheme+c.Image, options)
		}})
	}
	return nil
}

// A namedBy is what catalogs of a mirror say about the images of a repository.
type namedBy struct {
	kind              plan.ImageKind
	packages, bundles []string
}

// images returns the images of a mirror without records, one for each tag. all are the packages of its catalogs.
func (f *foundMirror) images(all []listing.CatalogPackage) (images []Image) {
	named := map[string]*namedBy{}
	for _, p := range all {
		for _, b := range p.Bundles {
			for i, ref := range b.Images {
				at, err := reference.Parse(ref)
				if err != nil {
					continue
				}
				n := named[at.Path]
				if n == nil {
					n = &namedBy{kind: plan.RelatedImage}
					named[at.Path] = n
				}
				if i == 0 {
					n.kind = plan.BundleImage
				}
				n.packages, n.bundles = with(n.packages, p.Name), with(n.bundles, b.Name)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(f.Tags)) {
		for _, tag := range slices.Sorted(slices.Values(f.Tags[path])) {
			img := Image{Place: f.place, Names: []string{f.target.Repository(path).String() + ":" + tag}, Kind: search.KindOf(path)}
			if n := named[path]; n != nil {
				img.Kind, img.Packages, img.Bundles = n.kind, n.packages, n.bundles
			}
			if slices.ContainsFunc(f.Catalogs, func(c draft.MirroredCatalog) bool { return c.Image == img.Names[0] }) {
				img.Kind = plan.CatalogImage
			}
			for suffix, kind := range map[string]plan.ImageKind{".sig": plan.SignatureImage, ".att": plan.AttestationImage, ".sbom": plan.SBOMImage} {
				if strings.HasSuffix(tag, suffix) && search.NotCatalog().MatchString(tag) {
					img.Kind = kind
				}
			}
			images = append(images, img)
		}
	}
	return images
}

// releases returns the releases of a mirror without records, by the tags of their payloads.
func (f *foundMirror) releases() (all []Release) {
	for _, tag := range f.Releases {
		if version, arch, ok := draft.PayloadTag(tag); ok {
			r := Release{Place: f.place, Product: release.OCP, Version: version, Arch: arch}
			if strings.Contains(version, "okd") {
				r.Product = release.OKD
			}
			for path, tags := range f.Tags {
				if search.KindOf(path) == plan.ReleaseImage && slices.Contains(tags, tag) {
					r.Image = f.target.Repository(path).String() + ":" + tag
				}
			}
			all = append(all, r)
		}
	}
	return all
}
