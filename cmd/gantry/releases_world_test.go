package main

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/releasetest"
)

// platformWorld is a world whose source has platform releases, with an update
// service, graph data and a signature store for them.
type platformWorld struct {
	*world
	releases *releasetest.World
	service  *registrytest.Server
}

// newPlatformWorld makes one of a universe.
func newPlatformWorld(t *testing.T, u releasetest.Universe) *platformWorld {
	t.Helper()
	w := &platformWorld{world: &world{
		t: t, dir: registrytest.TempDir(t),
		source: registrytest.Start(t, registrytest.Options{}), mirror: registrytest.Start(t, registrytest.Options{}),
	}}
	w.releases, w.service = releasetest.Serve(t, u, registrytest.Options{})
	if err := w.releases.Push(t.Context(), w.source.Client(), w.source.Host); err != nil {
		t.Fatal(err)
	}
	w.surroundings(w.write("registries.conf", w.releases.RegistriesConf(w.source.Host, w.source.Host, w.mirror.Host)), "")
	w.env[signatureKeyVariable] = w.write("release.asc", string(w.releases.Keys.OpenPGP))
	w.env[signatureURLVariable] = w.service.URL() + releasetest.SignaturesPath
	w.env[updateURLVariable] = w.service.URL() + releasetest.GraphPath
	return w
}
