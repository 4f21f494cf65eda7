package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The repositories of releases in a mirror.
const (
	releaseRepository   = mirrortest.ReleaseRepository
	componentRepository = mirrortest.ComponentRepository
	graphRepository     = mirrortest.GraphRepository
)

// platformFixture is a fixture whose source has platform releases. It also has an update service, graph
// data and a signature store for them.
type platformFixture struct {
	*fixture
	platform *mirrortest.Platform
	releases *releasetest.Platform
	service  *registrytest.Server
}

// newSmallFixture returns a fixture of releasetest.Small.
func newSmallFixture(t *testing.T) *platformFixture {
	t.Helper()
	return platformOf(mirrortest.SmallPlatform(t))
}

// newPlatformFixture returns a fixture of a definition.
func newPlatformFixture(t *testing.T, u releasetest.Definition) *platformFixture {
	t.Helper()
	return platformOf(mirrortest.NewPlatform(t, u))
}

func platformOf(p *mirrortest.Platform) *platformFixture {
	w := &platformFixture{&fixture{t: p.T, dir: p.Dir, source: p.Source, mirror: p.Mirror}, p, p.Releases, p.Service}
	w.surroundings("", "")
	maps.Copy(w.env, p.Vars)
	return w
}

// unplug disconnects the source, the update service and the signature store. The returned function
// connects them again and checks that they got no requests.
func (w *platformFixture) unplug() (plug func()) { return w.platform.Unplug() }

// payload returns a release by its name.
func (w *platformFixture) payload(name string) *releasetest.Payload { return w.platform.Payload(name) }

// stores returns the content of the mirror below a prefix, by repository.
func (w *platformFixture) stores(prefix string) map[string]registrytest.Repository {
	w.t.Helper()
	return stored(w.t, w.mirror, prefix)
}

func stored(t *testing.T, s *registrytest.Server, prefix string) map[string]registrytest.Repository {
	t.Helper()
	all := map[string]registrytest.Repository{}
	for _, r := range contentBelow(t, s, prefix) {
		r.Name = strings.TrimPrefix(r.Name, prefix+"/")
		all[r.Name] = r
	}
	return all
}

// holds checks that the mirror has these releases below the prefix, with all their components, and no others. It pulls
// them with a client that shares no code with Gantry.
func (w *platformFixture) holds(prefix string, names ...string) {
	w.t.Helper()
	want, got := map[string]digest.Digest{}, map[string]digest.Digest{}
	for _, name := range names {
		p := w.payload(name)
		want[releaseRepository+":"+name] = p.Digest
		for part, d := range p.Images {
			want[componentRepository+":"+name+"-"+part] = d
		}
	}
	for _, repository := range []string{releaseRepository, componentRepository} {
		for tag, d := range w.stores(prefix)[repository].Tags {
			if _, err := w.mirror.Client().Pull(w.t.Context(), prefix+"/"+repository, tag); err != nil {
				w.t.Error(err)
			}
			if !strings.HasPrefix(tag, "sha256-") && !strings.Contains(tag, "kube-virt-container") {
				got[repository+":"+tag] = d
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("content of %s (-want +got):\n%s", prefix, diff)
	}
}

// attested checks that there is a ConfigMap for each of the releases, and each image in their indexes, with the
// signature from the store, and no other.
func (w *platformFixture) attested(workspace string, names ...string) {
	w.t.Helper()
	want, got := map[string]string{}, map[string]string{}
	for _, name := range names {
		p := w.payload(name)
		for _, d := range append(slices.Collect(maps.Values(p.Shards)), p.Digest) {
			want["sha256-"+d.Encoded()+"-1"] = string(w.releases.Signature(d))
		}
	}
	for _, file := range w.glob(w.path(workspace + "/cluster-resources/signature-*")) {
		var m struct{ BinaryData map[string][]byte }
		fail.On(w.t, json.Unmarshal([]byte(readText(w.t, file)), &m))
		for name, signature := range m.BinaryData {
			got[name] = string(signature)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("signatures in %s (-want +got):\n%s", workspace, diff)
	}
}
