package state

import (
	"cmp"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// A Record lists what a mirror contains of one image set, as far as clusters use it. The
// cluster resources of a mirror are made from the records of all its image sets.
type Record struct {
	Images   []resources.Image   `json:"images"`
	Catalogs []resources.Catalog `json:"catalogs"`
	// Releases are the platform releases that are complete.
	Releases []Release `json:"releases,omitempty"`
	// GraphData is the image with the update graph data, with its digest. It is nil if there is
	// none.
	GraphData *reference.Reference `json:"graphData,omitempty"`
	// Updates are the update paths of the plan.
	Updates []release.UpdatePath `json:"updates,omitempty"`
	// Selections has a digest of the source, selection and template of each catalog, by the tag in
	// the mirror ("host/path:tag").
	Selections map[string]digest.Digest `json:"selections,omitempty"`
	// Names are the names of catalogs in cluster resources.
	Names []resources.CatalogName `json:"names,omitempty"`
	// ImagePolicies verify the signatures of images.
	ImagePolicies []resources.ImagePolicy `json:"imagePolicies,omitempty"`
	// Format is the one that images were converted to; "" if they have the media types of their sources.
	Format manifest.Format `json:"format,omitempty"`
	// Clusters is what clusters run; nil if a version wrote the record that did not record it.
	Clusters *Clusters `json:"clusters,omitempty"`
	// Runs counts the runs that wrote the record. Its key is turn, since earlier versions read no other.
	Runs int `json:"turn,omitempty"`
}

// A Release is a platform release that is complete in a mirror.
type Release struct {
	Version string       `json:"version"`
	Arch    release.Arch `json:"arch"`
	// Source is the payload by the name that clusters use, Mirror its name in the mirror, with tag
	// and digest.
	Source string              `json:"source"`
	Mirror reference.Reference `json:"mirror"`
	// Channels are the channels that it was selected for, and URL is its erratum.
	Channels   []string            `json:"channels,omitempty"`
	URL        string              `json:"url,omitempty"`
	Signatures []release.Signature `json:"signatures,omitempty"`
	// LiveISOs are the ISO images of the release in the mirror.
	LiveISOs []release.LiveISO `json:"liveISOs,omitempty"`
}

// addLiveISO adds an ISO image of the release unless it has one for that architecture.
func (r *Release) addLiveISO(iso release.LiveISO) {
	if !slices.ContainsFunc(r.LiveISOs, func(have release.LiveISO) bool { return have.Arch == iso.Arch }) {
		r.LiveISOs = append(slices.Clip(r.LiveISOs), iso)
	}
}

// AddChannel adds a channel that the release was selected for. An empty name is ignored.
func (r *Release) AddChannel(name string) {
	if name != "" && !slices.Contains(r.Channels, name) {
		r.Channels = append(slices.Clip(r.Channels), name)
	}
}

// KeepImages adds the images of an earlier record whose sources the record does not have. Mirroring
// deletes nothing: such an image may still run in a cluster, or belong to a catalog that was
// withheld.
func (r *Record) KeepImages(earlier *Record) {
	has := bySource(r.Images)
	for _, img := range earlier.Images {
		if !has(img.Source) {
			r.Images = append(r.Images, img)
		}
	}
}

// AddCatalog adds a catalog and the digest of its selection.
func (r *Record) AddCatalog(c resources.Catalog, selection digest.Digest) {
	if r.Selections == nil {
		r.Selections = map[string]digest.Digest{}
	}
	r.Catalogs, r.Selections[tagOf(c)] = append(r.Catalogs, c), selection
}

// KeepCatalog adds the catalog of an earlier record with this source and target, if any.
func (r *Record) KeepCatalog(earlier *Record, source, target string) {
	i := slices.IndexFunc(earlier.Catalogs, func(c resources.Catalog) bool { return c.Source == source && c.Target == target })
	if i >= 0 {
		r.AddCatalog(earlier.Catalogs[i], earlier.Selections[tagOf(earlier.Catalogs[i])])
	}
}

// KeepReleases adds the releases of an earlier record, and its graph data if the record has none.
func (r *Record) KeepReleases(earlier *Record) {
	r.Releases = mergeReleases(r.Releases, earlier.Releases)
	r.GraphData = cmp.Or(r.GraphData, earlier.GraphData)
}

// KeepNames gives catalogs the names that they have in an earlier record, and adds those of other catalogs.
func (r *Record) KeepNames(earlier *Record) {
	names := slices.Clone(earlier.Names)
	for _, n := range r.Names {
		if !slices.ContainsFunc(names, func(have resources.CatalogName) bool { return have.Source == n.Source && have.Target == n.Target }) {
			names = append(names, n)
		}
	}
	r.Names = names
}

// bySource returns a function that reports whether an image has a source. Its index has four bytes
// per image; a set of references would be larger than the images.
func bySource(images []resources.Image) func(reference.Reference) bool {
	order := make([]int32, len(images))
	for i := range order {
		order[i] = int32(i)
	}
	elements.Sort(order, func(a, b int32) int { return compareReferences(images[a].Source, images[b].Source) })
	return func(source reference.Reference) bool {
		_, found := slices.BinarySearchFunc(order, source, func(i int32, source reference.Reference) int {
			return compareReferences(images[i].Source, source)
		})
		return found
	}
}

func compareReferences(a, b reference.Reference) int {
	return cmp.Or(
		strings.Compare(string(a.Digest), string(b.Digest)), strings.Compare(a.Path, b.Path),
		strings.Compare(a.Tag, b.Tag), strings.Compare(a.Host, b.Host))
}

// tagOf returns the tag of a catalog in the mirror, without its digest.
func tagOf(c resources.Catalog) string {
	tag := c.Mirror
	tag.Digest = ""
	return tag.String()
}

// mergeReleases adds the releases with tags that all does not have. Of other releases, it adds the
// channels and ISO images.
func mergeReleases(all, more []Release) []Release {
	all = slices.Clone(all)
	for _, r := range more {
		i := slices.IndexFunc(all, func(x Release) bool {
			return x.Mirror.Repository() == r.Mirror.Repository() && x.Mirror.Tag == r.Mirror.Tag
		})
		if i < 0 {
			all = append(all, r)
			continue
		}
		for _, name := range r.Channels {
			all[i].AddChannel(name)
		}
		for _, iso := range r.LiveISOs {
			all[i].addLiveISO(iso)
		}
	}
	return all
}

// Merge returns what a mirror contains of all its image sets. If two image sets publish a catalog under
// the same tag, the catalog of mine is the current one. The result has no names.
func Merge(mine Record, others ...Record) Record {
	all := Record{ // appending must not change the lists of mine
		Images: slices.Clip(mine.Images), Catalogs: slices.Clip(mine.Catalogs), Releases: slices.Clip(mine.Releases), GraphData: mine.GraphData,
		Updates: slices.Clip(mine.Updates), ImagePolicies: slices.Clip(mine.ImagePolicies),
	}
	for _, r := range others {
		all.ImagePolicies = append(all.ImagePolicies, r.ImagePolicies...)
		all.Images = append(all.Images, r.Images...)
		all.KeepReleases(&r)
		all.Updates = append(all.Updates, r.Updates...)
		for _, c := range r.Catalogs {
			if slices.ContainsFunc(all.Catalogs, func(have resources.Catalog) bool { return have.Source == c.Source && have.Target == c.Target }) {
				continue
			}
			if i := slices.IndexFunc(mine.Catalogs, func(have resources.Catalog) bool { return tagOf(have) == tagOf(c) }); i >= 0 {
				c.Mirror = mine.Catalogs[i].Mirror
			}
			all.Catalogs = append(all.Catalogs, c)
		}
	}
	return all
}

// JoinNames returns the names that catalogs have in the records of a mirror. If two records disagree, as
// after catalogs were renamed in one of them, the shorter name applies, which has no hash.
func JoinNames(records ...Record) []resources.CatalogName {
	var all []resources.CatalogName
	for _, r := range records {
		for _, n := range r.Names {
			i := slices.IndexFunc(all, func(have resources.CatalogName) bool { return have.Source == n.Source && have.Target == n.Target })
			switch {
			case i < 0:
				all = append(all, n)
			case cmp.Or(cmp.Compare(len(n.Name), len(all[i].Name)), cmp.Compare(n.Name, all[i].Name)) < 0:
				all[i] = n
			}
		}
	}
	return all
}

// Platform returns the releases, graph data and signatures, for the manifests of clusters.
func (r *Record) Platform() resources.Platform {
	var p resources.Platform
	bodies := map[digest.Digest][][]byte{}
	for _, r := range r.Releases {
		p.Releases = r.Mirror.Repository()
		for _, s := range r.Signatures {
			if !slices.ContainsFunc(bodies[s.Digest], func(b []byte) bool { return slices.Equal(b, s.Body) }) {
				bodies[s.Digest] = append(bodies[s.Digest], s.Body)
			}
		}
	}
	for d, all := range bodies {
		p.Signatures = append(p.Signatures, resources.Signed{Digest: d, Signatures: all})
	}
	elements.Sort(p.Signatures, func(a, b resources.Signed) int { return cmp.Compare(a.Digest, b.Digest) })
	if r.GraphData != nil {
		p.GraphData = *r.GraphData
	}
	return p
}
