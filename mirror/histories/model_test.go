package histories

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The model: what an image set wants in a mirror follows from its selection, and from what the source has. Neither this file
// nor those that it uses know Gantry; TestModelKnowsNothing checks that.

// A selected is what an image set selects.
type selected struct {
	apps     map[int]appChoice
	catalog  string // "", "heads", "full" or "all"
	packages []string
	target   string // of the catalog, "" for its path
	releases []string
	graph    bool
	charts   []int
	files    []string
}

type appChoice struct {
	pin    digest.Digest // "" is the tag
	target string        // the repository, "" for its path
	one    bool          // only linux/amd64
}

// A state is what the source has under its tags.
type state struct {
	apps    [apps]int // versions
	catalog int
	files   map[string]int
	refers  int // how often referrers changed
}

func fileText(name string, version int) string {
	return fmt.Sprintf("file %s of version %d\n", name, version)
}

// A want is what an image set wants in a mirror.
type want struct {
	manifests map[place]bool
	// partly are indexes that are wanted for one platform.
	partly map[place]bool
	// tags are the manifests of tags, and artifacts the only layers of those of files and charts, by "repository:tag".
	tags, artifacts map[string]digest.Digest
	// catalogs are the names of the bundles of catalogs that are built, and images other images that are built, by
	// "repository:tag".
	catalogs map[string][]string
	images   map[string]bool
	// lists are the referrers of images.
	lists map[place][]digest.Digest
}

func newWant() *want {
	return &want{
		map[place]bool{}, map[place]bool{}, map[string]digest.Digest{}, map[string]digest.Digest{}, map[string][]string{}, map[string]bool{}, map[place][]digest.Digest{},
	}
}

// A model knows the source.
type model struct {
	*sourceContent
	from   *rt.Server
	charts [][]byte
	state  state
	// read are the manifests of the source that were read, by "REFERRERS repository:tag" or "@digest".
	read map[string]*gotManifest
}

// manifest reads a manifest of the source.
func (m *model) manifest(ctx context.Context, repository, name string) (*gotManifest, error) {
	key := fmt.Sprint(m.state.refers, " ", repository, ":", name)
	if got, ok := m.read[key]; ok {
		return got, nil
	}
	got, err := readManifest(ctx, m.from, repository, name)
	if err == nil {
		m.read[key] = got
	}
	return got, err
}

// want returns what a selection wants in a mirror with this prefix.
func (m *model) want(ctx context.Context, s *selected, prefix string) (*want, error) {
	w := newWant()
	for i, c := range s.apps {
		d, tag := m.apps[i][m.state.apps[i]], "v1"
		if c.pin != "" {
			d, tag = c.pin, listTag(c.pin)+".image"
		}
		to := prefix + "/" + c.target
		if c.target == "" {
			to = prefix + "/" + appPath(i)
		}
		// Gantry mirrors the same platforms of an image to each of its places.
		one := c.one && (!slices.Contains(s.charts, i) || d != m.apps[i][m.state.apps[i]])
		if err := w.add(ctx, m, appHost+"/"+appPath(i), place{to, d}, tag, one); err != nil {
			return nil, err
		}
	}
	for _, n := range s.charts {
		w.artifacts[fmt.Sprintf("%s/charts/web:%d.0.0", prefix, n)] = digest.FromBytes(m.charts[n-1])
		if err := w.add(ctx, m, appHost+"/"+appPath(n), place{prefix + "/" + appPath(n), m.apps[n][m.state.apps[n]]}, "v1", false); err != nil {
			return nil, err
		}
	}
	for _, name := range s.files {
		d := digest.FromString(fileText(name, m.state.files[name]))
		w.artifacts[prefix+"/gantry/files:"+name] = d
		w.artifacts[prefix+"/gantry/files:"+name+"-"+d.Encoded()[:12]] = d
	}
	if err := m.wantCatalog(ctx, w, s, prefix); err != nil {
		return nil, err
	}
	return w, m.wantReleases(ctx, w, s, prefix)
}

// wantCatalog adds a catalog with its images.
func (m *model) wantCatalog(ctx context.Context, w *want, s *selected, prefix string) error {
	if s.catalog == "" {
		return nil
	}
	target := s.target
	if target == "" {
		target = "zoo/index"
	}
	tag := prefix + "/" + target + ":" + zooTag
	first, names := 0, s.packages
	if s.catalog == "heads" {
		first = m.state.catalog
	}
	if s.catalog == "all" {
		names = packages()
		if err := w.add(ctx, m, zooHost+"/zoo/index", place{prefix + "/" + target, m.catalogs[m.state.catalog]}, zooTag, false); err != nil {
			return err
		}
	}
	for _, name := range names {
		for v := first; v <= m.state.catalog; v++ {
			w.catalogs[tag] = append(w.catalogs[tag], fmt.Sprintf("%s.v%d.0.0", name, v+1))
			for _, image := range m.bundles[fmt.Sprintf("%s %d.0.0", name, v+1)] {
				path, d, _ := strings.Cut(image, "@")
				if err := w.add(ctx, m, zooHost+"/"+path, place{prefix + "/" + path, digest.Digest(d)}, strings.Replace(d, ":", "-", 1)+".image", false); err != nil {
					return err
				}
			}
		}
	}
	slices.Sort(w.catalogs[tag])
	return nil
}

// wantReleases adds releases with their components, and the image with the update graph.
func (m *model) wantReleases(ctx context.Context, w *want, s *selected, prefix string) error {
	for _, version := range s.releases {
		p := m.releases.Payload(version + "-x86_64")
		if err := w.add(ctx, m, p.Repository, place{prefix + "/openshift/release-images", p.Digest}, p.Name, false); err != nil {
			return err
		}
		for name, d := range p.Images {
			if err := w.add(ctx, m, p.Content, place{prefix + "/openshift/release", d}, p.Name+"-"+name, false); err != nil {
				return err
			}
		}
	}
	if s.graph {
		w.images[prefix+"/openshift/graph-image:latest"] = true
	}
	return nil
}

// add adds an image with its platforms, signatures and referrers, as the source has them now.
func (w *want) add(ctx context.Context, from *model, repository string, at place, tag string, one bool) error {
	m, err := from.manifest(ctx, repository, at.digest.String())
	if err == nil && m == nil {
		err = fmt.Errorf("the source does not have %s@%s", repository, at.digest)
	}
	if err != nil {
		return err
	}
	if tag != "" {
		w.tags[at.repository+":"+tag] = at.digest
	}
	known := w.manifests[at]
	whole := known && !w.partly[at]
	w.manifests[at] = true
	delete(w.partly, at)
	if one && len(m.Manifests) > 0 && !whole {
		w.partly[at] = true
	}
	for _, child := range m.Manifests {
		if !one || child.Platform.Architecture == "amd64" {
			if err := w.add(ctx, from, repository, place{at.repository, child.Digest}, "", one); err != nil {
				return err
			}
		}
	}
	signature, err := from.manifest(ctx, repository, signatureTag(at.digest))
	if err != nil {
		return err
	}
	if signature != nil {
		if err := w.add(ctx, from, repository, place{at.repository, signature.digest}, signatureTag(at.digest), false); err != nil {
			return err
		}
	}
	list, err := from.manifest(ctx, repository, listTag(at.digest))
	if err != nil || list == nil || known {
		return err
	}
	for _, referrer := range list.Manifests {
		w.lists[at] = append(w.lists[at], referrer.Digest)
		if err := w.add(ctx, from, repository, place{at.repository, referrer.Digest}, "", false); err != nil {
			return err
		}
	}
	return nil
}

// equal reports whether both want the same.
func (w *want) equal(o *want) bool {
	return maps.Equal(w.manifests, o.manifests) && maps.Equal(w.tags, o.tags) && maps.Equal(w.artifacts, o.artifacts) && maps.Equal(w.images, o.images) &&
		maps.EqualFunc(w.catalogs, o.catalogs, slices.Equal)
}

// A target is an image set in a mirror, which is the prefix of its repositories.
type target struct{ set, prefix string }

// A recorded is what is known of a target.
type recorded struct {
	// revisions are what the mirror has to have, the last one is the current one. Earlier ones stay until they are pruned.
	revisions []*want
	// pending are what runs were about that were killed. It is unknown whether they were done.
	pending []*want
	// leaving means that a run was killed that gave the image set up.
	leaving bool
	// text is the configuration and the state of the source that the current revision is certainly from, or "".
	text string
}

// current returns the current revision, nil if there is none.
func (r *recorded) current() *want {
	if len(r.revisions) == 0 {
		return nil
	}
	return r.revisions[len(r.revisions)-1]
}

// needs calls do for each manifest that the mirror has to have: those of all revisions, and while runs of the image set
// did not end, what these want, too.
func (r *recorded) needs(do func(place)) {
	if r.leaving {
		return
	}
	for i, w := range r.revisions {
		for at := range w.manifests {
			last := i == len(r.revisions)-1
			if !last && len(r.pending) == 0 || last && !slices.ContainsFunc(r.pending, func(p *want) bool { return !p.manifests[at] }) {
				do(at)
			}
		}
	}
}

// mirrored records a run that ended.
func (r *recorded) mirrored(w *want, same bool) {
	now := r.current()
	switch {
	case now == nil || len(r.pending) > 0 || r.leaving:
		r.revisions = []*want{w}
	case same:
		r.revisions[len(r.revisions)-1] = w
	case now.equal(w): // Gantry may count a revision, whose content is the same
		r.revisions = []*want{w}
	default:
		r.revisions = append(r.revisions, w)
	}
	r.pending, r.leaving = nil, false
}

// pruned records that all revisions but the last ones may be deleted.
func (r *recorded) pruned(last int) {
	r.revisions = r.revisions[max(0, len(r.revisions)-last):]
}
