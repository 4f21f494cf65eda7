package mirrortest

import (
	"context"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// The repositories of releases in a mirror.
const (
	ReleaseRepository   = "openshift/release-images"
	ComponentRepository = "openshift/release"
	GraphRepository     = "openshift/graph-image"
)

// A Platform is a Site whose source has platform releases. It also has an update service, graph data and a signature
// store for them.
type Platform struct {
	*Site
	Releases *releasetest.Platform
	Service  *registrytest.Server
}

// small is releasetest.Small, for sources.
var small kept[*releasetest.Platform]

// SmallPlatform returns a Platform with releasetest.Small.
func SmallPlatform(t *testing.T) *Platform {
	t.Helper()
	create := func() (*releasetest.Platform, error) { return releasetest.New(releasetest.Small()) }
	releases := small.get(t, create, func(ctx context.Context, p *releasetest.Platform, to *registrytest.Server) error {
		return p.Push(ctx, to.Client(), to.Host)
	})
	return newPlatform(t, releases, registrytest.Options{Storage: small.storage})
}

// NewPlatform returns a Platform with the releases of a definition.
func NewPlatform(t *testing.T, d releasetest.Definition) *Platform {
	t.Helper()
	releases, err := releasetest.New(d)
	fail.On(t, err)
	p := newPlatform(t, releases, registrytest.Options{})
	fail.On(t, releases.Push(t.Context(), p.Source.Client(), p.Source.Host))
	return p
}

func newPlatform(t *testing.T, releases *releasetest.Platform, source registrytest.Options) *Platform {
	t.Helper()
	NotAgain(t)
	p := &Platform{newSite(t, registrytest.Start(t, source), registrytest.Options{}), releases, registrytest.Serve(t, registrytest.Options{}, releases)}
	p.Write("registries.conf", releases.RegistriesConf(p.Source.Host, p.Source.Host, p.Mirror.Host))
	p.Vars[updates.SignatureKeyVariable] = p.Write("release.asc", string(releases.Keys.OpenPGP))
	p.Vars[updates.SignatureURLVariable] = p.Service.URL() + releasetest.SignaturesPath
	p.Vars[updates.UpdateURLVariable] = p.Service.URL() + releasetest.GraphPath
	return p
}

// UpdateService returns an Env without registries whose update service has the graphs of a definition.
func UpdateService(t *testing.T, d releasetest.Definition) (*env.Env, *registrytest.Server) {
	t.Helper()
	NotAgain(t)
	_, service := releasetest.Serve(t, d, registrytest.Options{})
	return UpdateEnv(t, service.URL()+releasetest.GraphPath), service
}

// UpdateEnv returns an Env without registries that uses the update service at an address. "" is the product's own.
func UpdateEnv(t *testing.T, address string) *env.Env {
	t.Helper()
	s := &Site{T: t, Dir: t.TempDir(), Vars: map[string]string{updates.UpdateURLVariable: address}}
	s.Vars["HOME"], s.Vars["CONTAINERS_REGISTRIES_CONF"] = s.Dir, s.Write("registries.conf", "")
	return s.NewEnv()
}

// Unplug disconnects the source, the update service and the signature store. The returned function connects them again
// and checks that they got no requests.
func (p *Platform) Unplug() (plug func()) {
	all := []*registrytest.Server{p.Source, p.Service}
	for _, s := range all {
		s.ResetLog()
		s.Script(registrytest.Rule{Action: registrytest.Reset()})
	}
	return func() {
		p.T.Helper()
		for _, s := range all {
			for _, r := range s.Log() {
				p.T.Errorf("%s %s was requested without a network", r.Method, r.Path)
			}
			s.Script()
		}
	}
}

// Payload returns a release by its name: "4.20.2-x86_64".
func (p *Platform) Payload(name string) *releasetest.Payload {
	p.T.Helper()
	found := p.Releases.Payload(name)
	if found == nil {
		p.T.Fatalf("there is no release %s", name)
	}
	return found
}

// MirrorTags returns the tags of a repository of the mirror.
func (p *Platform) MirrorTags(repository string) map[string]digest.Digest {
	p.T.Helper()
	list, err := p.Mirror.Repositories(repository)
	fail.On(p.T, err)
	for _, r := range list {
		if r.Name == repository {
			return r.Tags
		}
	}
	return nil
}
