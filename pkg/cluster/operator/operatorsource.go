package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/install"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/search"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// Operators are catalogs with operators, and where their bundles are.
type Operators struct {
	Images   image.Reader
	Sources  *workspace.Sources
	Catalogs []Catalog
	where    string // for messages
	Close    func()
}

// A Catalog is a catalog in a mirror, in an archive or at its source.
type Catalog struct {
	resources.Catalog // with its name in clusters
	At                plannedImage
	recorded          bool     // the workspace has its name
	packages          []string // nil if they are not known before it is read
	// Image returns where an image is that the catalog names.
	Image func(name string) (plannedImage, error)
}

// A plannedImage is where an image is.
type plannedImage struct {
	Name   string
	Digest digest.Digest // "" if the name has it
}

// A PinnedReader reads the image with a digest if none is asked for, as from archives, which do not find
// images by their names.
type PinnedReader struct {
	image.Reader
	Root digest.Digest
}

// Manifest implements image.Reader.
func (r PinnedReader) Manifest(ctx context.Context, name string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	d = cmp.Or(d, r.Root)
	return r.Reader.Manifest(ctx, name, d)
}

// openOperators finds the catalogs. The caller closes the result.
func openOperators(ctx context.Context, e *env.Env, o *InstallOptions) (_ *Operators, err error) {
	from := o.From
	if len(from) == 0 && o.Catalog == "" {
		if from, err = lastMirror(o.Workspace); err != nil {
			return nil, err
		}
	}
	if o.Sequence != 0 && (len(from) == 0 || !strings.HasPrefix(from[0], env.ArchiveScheme)) {
		return nil, env.InputHint("leave it out, or name an archive with Options.From", "Options.Sequence is for an archive, and no archive is read")
	}
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	s := &Operators{Images: r.Origin, Sources: r, Close: func() { workspace.CloseSources(e, r) }}
	switch {
	case len(from) == 0:
		err = s.openSource(ctx, o)
	case len(from) > 1 && slices.ContainsFunc(from, func(name string) bool { return !strings.HasPrefix(name, env.ArchiveScheme) }):
		err = env.InputHint("name one mirror or layout", "Options.From: only an archive can have several folders")
	case strings.HasPrefix(from[0], env.LayoutScheme):
		s.where = from[0]
		err = s.openLayout(ctx, strings.TrimPrefix(from[0], env.LayoutScheme))
	case !strings.HasPrefix(from[0], env.RegistryScheme):
		s.where = "the archive"
		err = OpenArchived(ctx, e, s, o, from)
	default:
		s.where = from[0]
		err = openMirrored(ctx, e, s, o, from[0])
	}
	if err == nil {
		err = s.nameCatalogs(o.Workspace)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// lastMirror returns the mirror that a workspace was used for, or else the archive.
func lastMirror(workspace string) ([]string, error) {
	const hint = "name a mirror, an archive or a layout with Options.From, or a catalog with Options.Catalog"
	runs, err := state.Runs(env.WorkspaceDir(workspace))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, scheme := range []string{env.RegistryScheme, env.ArchiveScheme, env.LayoutScheme} {
		var found []string
		for _, run := range runs {
			if strings.HasPrefix(run.Destination, scheme) && !slices.Contains(found, run.Destination) {
				found = append(found, run.Destination)
			}
		}
		switch {
		case len(found) == 1:
			return found, nil
		case len(found) > 1:
			return nil, env.InputHint("name one with Options.From", "the workspace was used for several destinations: %s", strings.Join(found, ", "))
		}
	}
	return nil, env.InputHint(hint, "the workspace %s was not used for a mirror", env.WorkspaceDir(workspace))
}

// openSource uses a catalog at its source, with the bundles at theirs.
func (s *Operators) openSource(ctx context.Context, o *InstallOptions) error {
	src, err := s.Sources.Open(ctx, o.Catalog)
	if err != nil {
		return err
	}
	s.where = redact.Address(o.Catalog)
	s.Catalogs = []Catalog{{
		Catalog: resources.Catalog{Source: src.Name}, At: plannedImage{Name: src.Name},
		Image: func(name string) (plannedImage, error) { return plannedImage{Name: name}, nil },
	}}
	return nil
}

// OpenArchived uses the catalogs of an archive.
func OpenArchived(ctx context.Context, e *env.Env, s *Operators, o *InstallOptions, dirs []string) error {
	have, err := open.Archive(open.Options{Env: e, Folders: dirs, Sequence: o.Sequence, Read: o.Read})
	if err != nil {
		return err
	}
	closeSources := s.Close
	s.Close = func() {
		_ = have.Close() // only read from
		closeSources()
	}
	open.Observe(e.Observer, have)
	p, err := airgap.OpenedPlan(ctx, have)
	if err != nil {
		return err
	}
	s.Images = have
	s.addPlan(p, func(repository string, d digest.Digest) plannedImage {
		return plannedImage{Name: repository, Digest: d}
	})
	return nil
}

// openMirrored uses the catalogs of a mirror: those of the plans in the workspace, or else those that the
// registry is found to have.
func openMirrored(ctx context.Context, e *env.Env, s *Operators, o *InstallOptions, destination string) error {
	path, err := mirror.ParseRegistryPath(destination, 0)
	if err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	client, err := e.Client(remote.Source) // the mirror is what is read here
	if err != nil {
		return err
	}
	t := &site.RegistryDestination{RegistryPath: path, Client: client}
	plans, err := site.PlansOf(ctx, e, o.Workspace, t)
	if err != nil {
		return err
	}
	for _, p := range plans {
		names, err := t.Repositories(p)
		if err != nil {
			return advice.Wrap(advice.Input, err, "")
		}
		s.addPlan(p, func(repository string, d digest.Digest) plannedImage {
			return plannedImage{Name: names[repository].WithDigest(d).String()}
		})
	}
	if len(plans) > 0 {
		return nil
	}
	found, err := search.Mirror(ctx, e, t, o.Workspace, nil)
	if err != nil {
		return err
	}
	for _, c := range found.Catalogs {
		packages := []string{}
		for _, p := range c.Packages {
			packages = append(packages, p.Name)
		}
		s.Catalogs = append(s.Catalogs, Catalog{
			Catalog: resources.Catalog{Source: c.Image}, At: plannedImage{Name: c.Image}, packages: packages,
			Image: func(name string) (plannedImage, error) {
				ref, err := reference.Parse(name)
				if err != nil {
					return plannedImage{}, err
				}
				at := t.Repository(ref.Path)
				at.Tag, at.Digest = ref.Tag, ref.Digest
				return plannedImage{Name: at.String()}, nil
			},
		})
	}
	return nil
}

// addPlan adds the catalogs of a plan. at says where an image with a digest in a repository is.
func (s *Operators) addPlan(p *plan.Plan, at func(repository string, d digest.Digest) plannedImage) {
	for _, c := range p.Catalogs {
		stored := at(c.Repository, c.Digest)
		if c.VariantOf != "" || slices.ContainsFunc(s.Catalogs, func(other Catalog) bool { return other.At == stored }) {
			continue // the same packages: for another version of Kubernetes, or of another image set
		}
		packages := []string{}
		for _, kept := range c.Packages {
			packages = append(packages, kept.Name)
		}
		s.Catalogs = append(s.Catalogs, Catalog{
			Catalog: mirror.CatalogOf(c), At: stored, packages: packages,
			Image: func(name string) (plannedImage, error) {
				for i := range p.Images {
					if img := &p.Images[i]; sameReference(img.Source, name) {
						return at(img.Repository, img.Digest), nil
					}
				}
				return plannedImage{}, fmt.Errorf("image %s is not in the plan %s: %w", name, p.Name, fs.ErrNotExist)
			},
		})
	}
}

// sameReference reports whether two texts are one reference.
func sameReference(a, b string) bool {
	if a == b {
		return true
	}
	x, err := reference.Parse(a)
	y, err2 := reference.Parse(b)
	return err == nil && err2 == nil && x == y
}

// nameCatalogs gives the catalogs the names of their objects in clusters.
func (s *Operators) nameCatalogs(workspace string) error {
	saved, err := state.CatalogNames(env.WorkspaceDir(workspace))
	if err != nil {
		return err
	}
	all := elements.Map(s.Catalogs, func(c Catalog) resources.Catalog { return c.Catalog })
	named, _, err := resources.NameCatalogs(all, saved)
	if err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	for i := range named {
		s.Catalogs[i].Catalog = named[i]
		s.Catalogs[i].recorded = slices.ContainsFunc(saved, func(n resources.CatalogName) bool { return n.Name == named[i].Name })
	}
	return nil
}

// find returns the package and the only catalog that has it.
func (s *Operators) find(ctx context.Context, o *InstallOptions) (*Catalog, *catalog.Package, error) {
	var found []*Catalog
	var names []string
	for i := range s.Catalogs {
		c := &s.Catalogs[i]
		if o.Catalog != "" && c.packages != nil && !c.is(o.Catalog) {
			continue
		}
		names = append(names, c.packages...)
		if c.packages == nil || slices.Contains(c.packages, o.Package) {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 0 && len(names) == 0:
		return nil, nil, env.InputHint("mirror one first, or correct Options.Catalog", "%s has no such catalog", s.where)
	case len(found) == 0:
		return nil, nil, listing.UnknownPackage(o.Package, names, s.where, "mirror it, or name another mirror, archive or layout with Options.From")
	case len(found) > 1:
		sources := elements.Map(found, func(c *Catalog) string { return c.Source })
		return nil, nil, env.InputHint("choose one with Options.Catalog", "several catalogs have package %s: %s", o.Package, strings.Join(sources, ", "))
	}
	content, err := s.Read(ctx, found[0].At, catalog.Options{Keep: func(name string) bool { return name == o.Package }})
	if err != nil {
		return nil, nil, err
	}
	if p := content.Package(o.Package); p != nil {
		return found[0], p, nil
	}
	return nil, nil, listing.UnknownPackage(o.Package, content.Names, found[0].Source, "mirror it first")
}

// is reports whether a text names the catalog: its source, its reference or its repository in the mirror.
func (c *Catalog) is(text string) bool {
	text = strings.TrimPrefix(text, env.RegistryScheme)
	if sameReference(text, c.Source) || text == c.At.Name {
		return true
	}
	ref, err := reference.Parse(c.Source)
	return err == nil && (ref.Path == text || ref.Name() == text || strings.TrimSuffix(c.Source, ":"+ref.Tag) == text)
}

// Read reads a catalog, or a bundle as a catalog with nothing else.
func (s *Operators) Read(ctx context.Context, at plannedImage, options catalog.Options) (*catalog.Catalog, error) {
	src, err := s.open(ctx, at)
	if err != nil {
		return nil, err
	}
	return src.Read(ctx, options)
}

func (s *Operators) open(ctx context.Context, at plannedImage) (*source.Source, error) {
	from := s.Sources.Catalogs()
	from.Images = PinnedReader{Reader: s.Images, Root: at.Digest}
	if at.Digest == "" {
		from.Images = s.Images
	}
	return source.Open(ctx, from, at.Name)
}

// bundle reads the manifests of a bundle: from the catalog if that has them, or else from its image.
func (s *Operators) bundle(ctx context.Context, c *Catalog, b *catalog.Bundle) (*install.Bundle, error) {
	read, err := install.Read(b)
	if err == nil || !errors.Is(err, install.ErrNoManifests) {
		return read, err
	}
	if b.Image == "" {
		return nil, advice.Wrap(advice.Input, err, "choose another version: this bundle has no image, either")
	}
	read, err = s.bundleImage(ctx, c, b)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, advice.Wrap(advice.KindOf(err), err, "mirror the bundle, or add the folders of earlier archives with Options.From")
	}
	return read, err
}

func (s *Operators) bundleImage(ctx context.Context, c *Catalog, b *catalog.Bundle) (*install.Bundle, error) {
	at, err := c.Image(b.Image)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
	}
	content, err := s.Read(ctx, at, catalog.Options{})
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
	}
	for _, p := range content.Packages {
		if read := p.Bundle(b.Name); read != nil && p.Name == b.Package {
			return install.Read(read)
		}
	}
	return nil, fmt.Errorf("image %s has another bundle than %s", b.Image, b.Name)
}
