package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/ocarchive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// names is what an archive of oc mirror tells about the names in it: where images came from, and
// why they were mirrored. The cache of oc mirror has the repositories and tags that images get in a mirror,
// except those of catalogs, but not their registries.
type names struct {
	from *ocarchive.Archive
	// sources are full references, by name in the mirror, and hosts what precedes a repository at its source: the registry.
	sources map[ocarchive.Name]string
	hosts   map[string]string
	// reasons are those of catalogs and releases, and kinds the kinds of images that they name.
	reasons map[ocarchive.Name][]plan.Reason
	kinds   map[ocarchive.Name]plan.ImageKind
	// catalogs are the catalogs of the configuration, by the name of the image that a mirror gets.
	catalogs map[ocarchive.Name]plan.Catalog
	// replaced are names of catalogs whose filtered image a mirror gets instead.
	replaced map[ocarchive.Name]bool
	releases map[string]plan.Release // by tag
	notes    []string
}

// namesOf reads the names that the configuration, catalogs and releases of an archive tell.
func namesOf(from *ocarchive.Archive, config *imageset.Config, tags []ocarchive.Tag) (*names, error) {
	n := &names{
		from: from, sources: map[ocarchive.Name]string{}, hosts: map[string]string{}, reasons: map[ocarchive.Name][]plan.Reason{}, kinds: map[ocarchive.Name]plan.ImageKind{},
		catalogs: map[ocarchive.Name]plan.Catalog{}, replaced: map[ocarchive.Name]bool{}, releases: map[string]plan.Release{},
	}
	links := make(map[ocarchive.Name]digest.Digest, len(tags))
	for _, t := range tags {
		links[t.Name] = t.Digest
		if t.Repository == plan.ReleaseRepository {
			if err := n.addRelease(t); err != nil {
				return nil, err
			}
		}
	}
	for i := range config.Mirror.AdditionalImages {
		img := &config.Mirror.AdditionalImages[i]
		n.addSource(img.Name, img.TargetRepo, img.TargetTag, plan.AdditionalImage, plan.Reason{List: "additionalImages"})
	}
	for i := range config.Mirror.Operators {
		if err := n.addCatalog(&config.Mirror.Operators[i], links); err != nil {
			return nil, err
		}
	}
	return n, n.addCharts(tags)
}

// addSource records where the image of a reference is in a mirror.
func (n *names) addSource(source, repository, tag string, kind plan.ImageKind, why plan.Reason) {
	ref, err := reference.Parse(source)
	if err != nil {
		return // oc mirror passes over it too
	}
	if repository == "" {
		repository = n.addHost(source, ref)
	}
	name := ocarchive.Name{Repository: repository, Tag: cmp.Or(tag, ref.Tag, plan.ReferrersTag(ref.Digest))}
	n.sources[name] = ref.String()
	if n.kinds[name] == "" || n.kinds[name].Rank() < kind.Rank() {
		n.kinds[name] = kind
	}
	if !slices.Contains(n.reasons[name], why) {
		n.reasons[name] = append(n.reasons[name], why)
	}
}

// addHost records where the images of a repository come from, and returns the repository that oc mirror gives them. It takes the first
// part of a short name for the registry: "acme/pump" becomes pump, which is docker.io/acme/pump.
func (n *names) addHost(source string, ref reference.Reference) (repository string) {
	host, repository := ref.Host, ref.Path
	if first, rest, ok := strings.Cut(ref.Path, "/"); ok && reference.IsShort(source) {
		host, repository = host+"/"+first, rest
	}
	n.hosts[repository] = host
	return repository
}

// filterTag matches the tags of catalogs that oc mirror filtered, in its cache.
var filterTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })

// addCatalog finds the image of a catalog, and reads what the catalog names.
func (n *names) addCatalog(op *imageset.Operator, links map[ocarchive.Name]digest.Digest) error {
	ref, err := reference.Parse(op.Catalog)
	repository, tag, component := op.TargetCatalog, op.TargetTag, path.Base(ref.Path)
	if err != nil { // oci://DIR
		dir, _ := plan.SplitLayout(op.Catalog)
		ref, component, tag = reference.Reference{Path: path.Base(dir), Tag: "latest"}, path.Base(dir), "latest"
	}
	repository = cmp.Or(repository, ref.Path)
	tag = cmp.Or(tag, ref.Tag)
	original := cmp.Or(ref.Digest, links[ocarchive.Name{Repository: repository, Tag: tag}])
	selection, err := json.Marshal(op)
	if err != nil {
		return err
	}
	k := plan.Catalog{Source: op.Catalog, SourceDigest: original, Repository: repository, ConfigsDir: "/configs", Selection: selection, Packages: []plan.Package{}}
	if op.TargetCatalog != "" || op.TargetTag != "" {
		k.Target = op.TargetCatalog + ":" + op.TargetTag
	}
	below := ocarchive.WorkingDir + "operator-catalogs/" + component + "/" + original.Encoded() + "/"
	image := ocarchive.Name{Repository: repository, Tag: cmp.Or(tag, plan.ReferrersTag(original))}
	configs := below + "catalog-config/"
	if len(op.Packages) > 0 || !op.Full {
		filtered, sum, ok := n.filtered(repository, below+"filtered-catalogs/", links)
		if ok {
			n.replaced[image] = true
			n.replaced[ocarchive.Name{Repository: repository, Tag: plan.ReferrersTag(original)}] = true
			image.Tag, k.Built, configs = filtered, true, below+"filtered-catalogs/"+filtered+"/catalog-config/"
			tag = cmp.Or(tag, plan.DigestTag(sum))
		} else {
			n.notes = append(n.notes, fmt.Sprintf("the filtered image of catalog %s is not in the archive; the unfiltered one is used if that is there", op.Catalog))
		}
	}
	k.Tag = cmp.Or(tag, plan.DigestTag(original))
	n.hosts[repository] = ref.Host
	k.Packages, err = n.readCatalog(k.Name(), configs)
	n.catalogs[image] = k
	return err
}

// filtered returns the tag, in the cache, and the digest of the filtered image of a catalog. Of several, for
// which the configuration was changed, the newest counts.
func (n *names) filtered(repository, below string, links map[ocarchive.Name]digest.Digest) (tag string, sum digest.Digest, ok bool) {
	newest := ""
	for _, file := range n.from.Files(below) {
		filter, isDigest := strings.CutSuffix(strings.TrimPrefix(file, below), "/digest")
		if !isDigest || !filterTag().MatchString(filter) {
			continue
		}
		text, err := n.from.Text(file)
		link := links[ocarchive.Name{Repository: repository, Tag: filter}]
		if err != nil || link == "" || link.Encoded() != strings.TrimPrefix(strings.TrimSpace(string(text)), "sha256:") {
			continue
		}
		if newest == "" || n.from.Time(file).After(n.from.Time(newest)) {
			newest, tag, sum = file, filter, link
		}
	}
	return tag, sum, newest != ""
}

// The repositories that releases come from, if nothing else is known.
const (
	releaseSource   = "quay.io/openshift-release-dev/ocp-release"
	componentSource = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"
)

// addRelease records a release by the tag of its payload, with the names of its components and its
// signatures.
func (n *names) addRelease(t ocarchive.Tag) error {
	i := strings.LastIndexByte(t.Tag, '-')
	if i < 0 {
		return nil // a payload that was named by its digest
	}
	arch, err := release.ParseArch(t.Tag[i+1:])
	if err != nil || t.Tag[:i] == "" {
		return nil //nolint:nilerr // an image like others
	}
	r := plan.Release{
		Product: release.OCP, Version: t.Tag[:i], Arch: arch, Source: releaseSource + "@" + string(t.Digest), Digest: t.Digest,
		Repository: t.Repository, Tag: t.Tag, Reasons: []plan.ReleaseReason{{Reason: "release"}},
	}
	for _, file := range n.from.Files(ocarchive.WorkingDir + "signatures/") {
		if strings.HasSuffix(file, "-sha256-"+t.Digest.Encoded()) {
			body, err := n.from.Text(file)
			if err != nil {
				return err
			}
			r.Signatures = append(r.Signatures, plan.Signature{Digest: t.Digest, Body: body})
		}
	}
	n.releases[t.Tag] = r
	n.hosts[plan.ReleaseRepository], n.hosts[plan.ComponentRepository] = "quay.io", "quay.io"
	return n.addComponents(r.Name())
}

// addComponents records the components of a release.
func (n *names) addComponents(name string) error {
	for _, file := range n.from.Files(ocarchive.WorkingDir + "hold-release/") {
		if !strings.HasSuffix(file, "/"+name+"/release-manifests/image-references") {
			continue
		}
		text, err := n.from.Text(file)
		if err != nil {
			return err
		}
		var references struct {
			Spec struct {
				Tags []struct {
					Name string `json:"name"`
					From struct {
						Name string `json:"name"`
					} `json:"from"`
				} `json:"tags"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(text, &references); err != nil {
			n.notes = append(n.notes, fmt.Sprintf("%s in the archive is not JSON", file))
			continue
		}
		for _, t := range references.Spec.Tags {
			n.addSource(t.From.Name, plan.ComponentRepository, name+"-"+t.Name, plan.ComponentImage, plan.Reason{Release: name, Name: t.Name})
		}
	}
	return nil
}

// attachment matches the tags of what cosign stores beside an image.
var attachment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256-([0-9a-f]{64})\.(sig|att|sbom)$`) })

// image returns the image of a tag, without what follows from its content. ok is false for an image that
// oc mirror keeps in its cache and does not push.
func (n *names) image(t ocarchive.Tag) (img plan.Image, ok bool) {
	img = plan.Image{Kind: n.kinds[t.Name], Digest: t.Digest, Repository: t.Repository, Tags: []string{t.Tag}, Source: n.sources[t.Name], Reasons: n.reasons[t.Name]}
	if k, ok := n.catalogs[t.Name]; ok {
		img.Kind, img.Catalog, img.Source, img.Tags = plan.CatalogImage, k.Name(), k.Source, []string{k.Tag}
		img.Reasons = []plan.Reason{{List: "operators"}}
		return img, true
	}
	if n.replaced[t.Name] || filterTag().MatchString(t.Tag) && n.isCatalog(t.Repository) {
		return img, false
	}
	img.Source = cmp.Or(img.Source, n.sourceOf(t))
	if r, ok := n.releases[t.Tag]; ok && t.Repository == plan.ReleaseRepository {
		img.Kind, img.Source, img.Reasons = plan.ReleaseImage, r.Source, []plan.Reason{{Release: r.Name()}}
	}
	if m := attachment().FindStringSubmatch(t.Tag); m != nil {
		img.Kind = map[string]plan.ImageKind{"sig": plan.SignatureImage, "att": plan.AttestationImage, "sbom": plan.SBOMImage}[m[2]]
		img.Subject, img.Reasons = digest.NewDigestFromEncoded(digest.SHA256, m[1]), []plan.Reason{{List: "signatures"}}
	}
	if ref, err := reference.Parse(img.Source); img.Kind == "" || err == nil && ref.Digest != "" && ref.Digest != t.Digest {
		img.Kind = plan.AdditionalImage // also what became another image on its way, with fewer platforms
	}
	if len(img.Reasons) == 0 {
		img.Reasons = []plan.Reason{{List: "additionalImages"}}
	}
	elements.Sort(img.Reasons, plan.CompareReasons)
	return img, true
}

func (n *names) isCatalog(repository string) bool {
	for name := range n.catalogs {
		if name.Repository == repository {
			return true
		}
	}
	return false
}

// sourceOf returns the reference of an image that nothing names. Other images of its repository may tell the
// registry.
func (n *names) sourceOf(t ocarchive.Tag) string {
	host := cmp.Or(n.hosts[t.Repository], unknownRegistry)
	repository := host + "/" + t.Repository
	if t.Repository == plan.ComponentRepository && host != unknownRegistry {
		repository = componentSource
	}
	if plan.IsDigestTag(t.Tag, t.Digest) || repository == componentSource {
		return repository + "@" + string(t.Digest)
	}
	return repository + ":" + t.Tag
}

// addTo adds the catalogs and releases whose images are in the plan.
func (n *names) addTo(p *plan.Plan) {
	p.Notes = append(p.Notes, n.notes...)
	for i := range p.Images {
		switch img := &p.Images[i]; img.Kind {
		case plan.CatalogImage:
			for name := range n.catalogs {
				if k := n.catalogs[name]; k.Name() == img.Catalog {
					k.Digest = img.Digest
					p.Catalogs = append(p.Catalogs, k)
				}
			}
		case plan.ReleaseImage:
			p.Releases = append(p.Releases, n.releases[img.Tags[0]])
		}
	}
	elements.Sort(p.Catalogs, func(a, b plan.Catalog) int { return strings.Compare(a.Name(), b.Name()) })
	elements.Sort(p.Releases, func(a, b plan.Release) int { return strings.Compare(a.Name(), b.Name()) })
}

// unknownIn returns how many images have a source with an unknown registry.
func (*names) unknownIn(p *plan.Plan) (count int) {
	for i := range p.Images {
		if strings.HasPrefix(p.Images[i].Source, unknownRegistry+"/") {
			count++
		}
	}
	return count
}
