package releases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/platform/update"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// ReleaseOptions says which release is read.
type ReleaseOptions struct {
	Env *env.Env
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// Release is a release image ("docker://HOST/REPOSITORY:TAG", with or without the scheme, or
	// "oci://DIR"), a version that the update service has ("4.20.5"), or a release in an archive
	// ("file://DIR#4.20.5", or "file://DIR1,file://DIR2#4.20.5" with those that it builds on; the version may be left out if
	// there is one).
	Release string
	// Arch is the architecture of a version. The default is amd64, or in an archive any.
	Arch string
	// Config and Product are those of ReleaseQuery, for a version.
	Config  string
	Product release.Product
	// Read and Sequence are those of open.Options, for an archive.
	Read     archive.OpenOptions
	Sequence int
}

// A ReleaseSource is a release image that can be read.
type ReleaseSource struct {
	Images image.Reader
	Source string
	Digest digest.Digest // "" if source names the image
	Tools  []plan.Tool   // those that the plan of an archive has for the release
	close  func()
}

// openRelease finds the release image. The caller closes it.
func openRelease(ctx context.Context, e *env.Env, o ReleaseOptions) (*ReleaseSource, error) {
	if o.Release == "" {
		return nil, env.Inputf("Options.Release is missing: give a release image, a version or an archive")
	}
	if o.Arch != "" {
		if _, err := parseArches([]string{o.Arch}); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(o.Release, env.ArchiveScheme) {
		return archivedRelease(ctx, e, o)
	}
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	s := &ReleaseSource{Images: r.Origin, Source: strings.TrimPrefix(o.Release, env.RegistryScheme), close: func() { workspace.CloseSources(e, r) }}
	switch {
	case strings.HasPrefix(o.Release, env.LayoutScheme):
	case isVersion(o.Release):
		s.Source, err = releaseOfVersion(ctx, e, o)
	case updates.MinorVersion().MatchString(o.Release):
		err = env.InputHint("gantry list releases --version "+o.Release+" lists them", "%s is a minor version; give one of its releases, such as %s.5", o.Release, o.Release)
	case reference.IsShort(s.Source):
		err = env.Inputf("%q is neither a version nor an image; write an image with its registry and tag, such as quay.io/openshift-release-dev/ocp-release:4.20.5-x86_64", o.Release)
	default:
		var ref reference.Reference
		if ref, err = reference.Parse(s.Source); err != nil {
			err = advice.Wrap(advice.Input, err, "")
		} else if ref.Identifier() == "" {
			err = env.InputHint("add it, such as "+ref.String()+":4.20.5-x86_64", "%s has neither tag nor digest", ref)
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// splitRelease splits the name of a release into version and architecture, "" if it has none.
func splitRelease(name string) (version string, arch release.Arch) {
	for _, a := range release.Arches() {
		if v, ok := strings.CutSuffix(name, "-"+a.Suffix()); ok {
			return v, a
		}
	}
	return name, ""
}

// isVersion reports whether a text is a version, perhaps with an architecture: "4.20.5-x86_64".
func isVersion(text string) bool {
	version, _ := splitRelease(text)
	_, err := semver.Parse(version)
	return err == nil
}

// releaseOfVersion asks the update service for a version and returns the reference of its payload.
func releaseOfVersion(ctx context.Context, e *env.Env, o ReleaseOptions) (string, error) {
	version, arch := splitRelease(o.Release)
	if o.Arch != "" {
		given, _ := release.ParseArch(o.Arch) // was checked
		if arch != "" && arch != given {
			return "", env.InputHint("leave out one of them", "%s and Options.Arch %s are two architectures", o.Release, o.Arch)
		}
		arch = given
	}
	arch = cmp.Or(arch, release.DefaultArch)
	c, err := newReleaseClient(e, &ReleaseQuery{Config: o.Config, Product: o.Product})
	if err != nil {
		return "", err
	}
	v, err := semver.Parse(version)
	if err != nil {
		return "", env.Inputf("version %q: %w", version, err)
	}
	var asked []string
	for _, kind := range slices.Backward(kindsOfChannels[:]) {
		channel := fmt.Sprintf("%s-%d.%d", kind, v.Major, v.Minor)
		g, _, err := c.updates.Graph(ctx, c.Product, channel, arch)
		if unknown := (*update.UnknownChannelError)(nil); errors.As(err, &unknown) {
			continue
		}
		if err != nil {
			return "", err
		}
		if i, ok := g.Find(v); ok {
			return g.Nodes[i].Payload, nil
		}
		asked = append(asked, channel)
	}
	if len(asked) == 0 {
		return "", env.InputHint("check the version and Options.Arch, or give the image", "the update service has no channel of %d.%d for %s", v.Major, v.Minor, arch)
	}
	return "", env.InputHint("gantry list releases --channel "+asked[0]+" lists those that exist", "release %s for %s is in none of the channels %s", version, arch, strings.Join(asked, ", "))
}

// archivedRelease opens a release in an archive.
func archivedRelease(ctx context.Context, e *env.Env, o ReleaseOptions) (*ReleaseSource, error) {
	folders, name, _ := strings.Cut(o.Release, "#")
	have, err := open.Archive(open.Options{Env: e, Folders: strings.Split(folders, ","), Sequence: o.Sequence, Read: o.Read})
	if err != nil {
		return nil, err
	}
	s := &ReleaseSource{Images: have, close: func() { _ = have.Close() }} // only read from
	open.Observe(e.Observer, have)
	p, err := airgap.OpenedPlan(ctx, have)
	if err == nil {
		var found *plan.Release
		if found, err = pickRelease(p, name, o.Arch); err == nil {
			s.Source, s.Digest, s.Tools = found.Source, found.Digest, found.Tools
			return s, nil
		}
	}
	s.close()
	return nil, err
}

// pickRelease returns the release of a plan with a name ("4.20.5" or "4.20.5-x86_64"), or its only one.
func pickRelease(p *plan.Plan, name, arch string) (*plan.Release, error) {
	var found []*plan.Release
	var names []string
	for i := range p.Releases {
		r := &p.Releases[i]
		names = append(names, r.Name())
		a, _ := release.ParseArch(arch) // was checked
		if (name == "" || name == r.Version || name == r.Name()) && (arch == "" || a == r.Arch) {
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(names) == 0:
		return nil, env.InputHint("give the folder of another archive", "the archive has no platform releases")
	case len(found) == 0:
		hint := cmp.Or(suggest.Phrase(name, names), "it has "+strings.Join(names, ", "))
		return nil, env.InputHint(hint, "the archive has no release %s", strings.TrimSpace(name+" "+arch))
	}
	return nil, env.InputHint("add one of them after a #, such as #"+names[0], "the archive has several releases: %s", strings.Join(names, ", "))
}

// read reads the release.
func (s *ReleaseSource) read(ctx context.Context) (*payload.Payload, *payload.Contents, error) {
	p, c, err := payload.ReadContents(ctx, s.Images, s.Source, s.Digest)
	return p, c, s.advise(err)
}

// readRelease finds the release image and reads what it says of itself. The caller closes the source.
func readRelease(ctx context.Context, e *env.Env, o ReleaseOptions) (*ReleaseSource, *payload.Payload, error) {
	s, err := openRelease(ctx, e, o)
	if err != nil {
		return nil, nil, err
	}
	p, err := payload.Read(ctx, s.Images, s.Source, s.Digest)
	if err != nil {
		s.close()
		return nil, nil, s.advise(err)
	}
	return s, p, nil
}

// advise adds a hint to the error for an image that is not a release or does not exist.
func (s *ReleaseSource) advise(err error) error {
	switch {
	case errors.Is(err, payload.ErrNoRelease):
		return advice.Wrap(advice.Input, err, "give a release image, such as quay.io/openshift-release-dev/ocp-release:4.20.5-x86_64, or openshift/release-images in a mirror")
	case !errors.Is(err, fs.ErrNotExist) || advice.Hint(err) != "":
	case s.Digest != "": // it is in the plan of an archive
		return advice.Wrap(advice.KindOf(err), err, "name the folders of the earlier archives, too: file://DIR1,file://DIR2#4.20.5")
	default:
		return advice.Wrap(advice.KindOf(err), err, "check the name")
	}
	return err
}
