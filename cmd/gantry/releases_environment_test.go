package main

import (
	"bytes"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan/updates"
)

const provenPlatform = `  platform:
    graph: true
    channels:
    - name: fast-4.20
      from: [4.18.1]
`

// platformFixture is a fixture whose source has platform releases. It also has an update service, graph
// data and a signature store for them.
type platformFixture struct {
	*fixture
	releases *releasetest.Platform
	service  *registrytest.Server
}

// small is releasetest.Small, and the storage of a registry that has it. The first test that needs
// it makes it.
var small struct {
	once     sync.Once
	releases *releasetest.Platform
	storage  string // a folder
	err      error
}

// newSmallFixture returns a fixture of releasetest.Small.
func newSmallFixture(t *testing.T) *platformFixture {
	t.Helper()
	return newSmallFixtureAt(t, registrytest.Options{})
}

// newSmallFixtureAt returns a fixture of releasetest.Small with this mirror.
func newSmallFixtureAt(t *testing.T, mirror registrytest.Options) *platformFixture {
	t.Helper()
	small.once.Do(func() {
		if small.releases, small.err = releasetest.New(releasetest.Small()); small.err != nil {
			return
		}
		first := registrytest.Start(t, registrytest.Options{Alone: true})
		if small.err = small.releases.Push(t.Context(), first.Client(), first.Host); small.err == nil {
			small.storage, small.err = first.Keep()
		}
	})
	if small.err != nil {
		t.Fatalf("making releases: %v", small.err)
	}
	return newReleaseFixture(t, small.releases, registrytest.Options{Storage: small.storage}, mirror)
}

// newPlatformFixture returns a fixture of a definition.
func newPlatformFixture(t *testing.T, u releasetest.Definition) *platformFixture {
	t.Helper()
	releases, err := releasetest.New(u)
	if err != nil {
		t.Fatal(err)
	}
	w := newReleaseFixture(t, releases, registrytest.Options{}, registrytest.Options{})
	w.push(releases)
	return w
}

func newReleaseFixture(t *testing.T, releases *releasetest.Platform, source, mirror registrytest.Options) *platformFixture {
	t.Helper()
	notAgain(t)
	w := &platformFixture{
		fixture: &fixture{
			t: t, dir: registrytest.TempDir(t),
			source: registrytest.Start(t, source), mirror: registrytest.Start(t, mirror),
		},
		releases: releases, service: registrytest.Serve(t, registrytest.Options{}, releases),
	}
	w.surroundings(w.write("registries.conf", releases.RegistriesConf(w.source.Host, w.source.Host, w.mirror.Host)), "")
	w.env[updates.SignatureKeyVariable] = w.write("release.asc", string(releases.Keys.OpenPGP))
	w.env[updates.SignatureURLVariable] = w.service.URL() + releasetest.SignaturesPath
	w.env[updates.UpdateURLVariable] = w.service.URL() + releasetest.GraphPath
	return w
}

// push pushes the releases to the source.
func (w *platformFixture) push(releases *releasetest.Platform) {
	w.t.Helper()
	if err := releases.Push(w.t.Context(), w.source.Client(), w.source.Host); err != nil {
		w.t.Fatal(err)
	}
}

// unplug disconnects the source, the update service and the signature store. The returned function
// connects them again and checks that they got no requests.
func (w *platformFixture) unplug() (plug func()) {
	w.t.Helper()
	all := []*registrytest.Server{w.source, w.service}
	for _, s := range all {
		s.ResetLog()
		s.Script(registrytest.Rule{Action: registrytest.Reset()})
	}
	return func() {
		w.t.Helper()
		for _, s := range all {
			for _, r := range s.Log() {
				w.t.Errorf("%s %s was requested without a network", r.Method, r.Path)
			}
			s.Script()
		}
	}
}

// payload returns a release by its name.
func (w *platformFixture) payload(name string) *releasetest.Payload {
	w.t.Helper()
	p := w.releases.Payload(name)
	if p == nil {
		w.t.Fatalf("there is no release %s", name)
	}
	return p
}

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

// The repositories of releases in a mirror.
const (
	releaseRepository   = "openshift/release-images"
	componentRepository = "openshift/release"
	graphRepository     = "openshift/graph-image"
)

// holds checks that the mirror has these releases below the prefix, complete, with all their tags
// and signatures, and nothing else except a graph data image. It pulls them with a client that
// shares no code with Gantry.
func (w *platformFixture) holds(prefix string, names ...string) {
	w.t.Helper()
	got := map[string]map[string]digest.Digest{}
	sealed := map[string]bool{}
	for name, r := range w.stores(prefix) {
		if len(r.Tags) > 0 && name != graphRepository {
			got[name] = r.Tags
		}
		for _, d := range r.Manifests {
			sealed[releasetest.SignatureTag(d)] = true
		}
	}
	want := map[string]map[string]digest.Digest{releaseRepository: {}, componentRepository: {}}
	for _, name := range names {
		p := w.payload(name)
		want[releaseRepository][name] = p.Digest
		for part, d := range p.Images {
			want[componentRepository][name+"-"+part] = d
		}
		for arch, d := range p.BootImages {
			tag := name + "-" + "kube-virt-container"
			if p.Shards != nil {
				tag += "-" + arch.Suffix()
			}
			want[componentRepository][tag] = d
		}
	}
	// The mirror must have the sigstore signatures that the source has for its content.
	for repository, r := range stored(w.t, w.source, "quay.io") {
		to := componentRepository
		if strings.HasSuffix(repository, "-release") {
			to = releaseRepository
		}
		for tag, d := range r.Tags {
			if sealed[tag] {
				want[to][tag] = d
			}
		}
	}
	maps.DeleteFunc(want, func(_ string, tags map[string]digest.Digest) bool { return len(tags) == 0 })
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("content of %s (-want +got):\n%s", prefix, diff)
	}
	c := w.mirror.Client()
	pulled := map[string]bool{}
	for repository, tags := range got {
		for _, tag := range slices.Sorted(maps.Keys(tags)) {
			if name := repository + "@" + tags[tag].String(); !pulled[name] {
				pulled[name] = true
				if _, err := c.Pull(w.t.Context(), prefix+"/"+repository, tag); err != nil {
					w.t.Error(err)
				}
			}
		}
	}
}

// manifests returns the cluster resources of a workspace that oc apply -f reads, by file name.
func (w *platformFixture) manifests(workspace string) map[string]string {
	w.t.Helper()
	files := map[string]string{}
	dir := filepath.Join(w.path(workspace), "cluster-resources")
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != dir:
			return fs.SkipDir
		case e.IsDir(), e.Name() == resources.KustomizationFile:
			return nil
		}
		text, err := os.ReadFile(path)
		files[e.Name()] = string(text)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return files
}

// once checks that no server got the same request twice.
func (w *platformFixture) once(servers ...*registrytest.Server) {
	w.t.Helper()
	for _, s := range servers {
		asked := map[string]int{}
		for _, r := range contentLog(s) {
			asked[r.Method+" "+r.Path+"?"+r.Query]++
		}
		for what, n := range asked {
			if n > 1 {
				w.t.Errorf("%s: requested %d times", what, n)
			}
		}
	}
}

// copies checks that nothing was sent to the mirror.
func (w *platformFixture) copies(nothing string) {
	w.t.Helper()
	n := contentRequests(w.mirror)
	if sent := n["PUT manifest"] + n["POST upload"] + n["POST mount"]; sent > 0 {
		w.t.Errorf("%s sent %d requests that write", nothing, sent)
	}
}

// impatiently runs the program with a clock that skips waits, and with this timeout for idle
// servers.
func (w *platformFixture) impatiently(idle time.Duration, args ...string) outcome {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr, env: w.env, tune: func(o *remote.Options) { o.Clock, o.IdleTimeout = &skipClock{}, idle }}
	code := a.run(args)
	return outcome{stdout.String(), stderr.String(), code}
}

// ended checks the exit code, and that stderr contains these words.
func (w *platformFixture) ended(o outcome, code int, words ...string) {
	w.t.Helper()
	if o.code != code {
		w.t.Errorf("it ended with %d, want %d\n%s%s", o.code, code, o.stdout, o.stderr)
	}
	for _, word := range words {
		if !strings.Contains(o.stderr, word) {
			w.t.Errorf("it does not print %q:\n%s", word, o.stderr)
		}
	}
}

// untouched checks that nothing was written to the mirror, and that the workspace has no plan and
// no cluster resources.
func (w *platformFixture) untouched(workspace string) {
	w.t.Helper()
	w.copies("what was refused")
	if files := w.manifests(workspace); len(files) > 0 {
		w.t.Errorf("there are cluster resources: %v", slices.Sorted(maps.Keys(files)))
	}
	if plans, _ := filepath.Glob(filepath.Join(w.path(workspace), "plans", "*")); len(plans) > 0 {
		w.t.Errorf("there are plans: %v", plans)
	}
}

// serve pushes several definitions and starts one update service and signature store for all of them.
// The first one provides the graph data and becomes w's.
func (w *platformFixture) serve(definitions ...releasetest.Definition) {
	w.t.Helper()
	var fixtures []*releasetest.Platform
	for _, u := range definitions {
		one, err := releasetest.New(u)
		if err != nil {
			w.t.Fatal(err)
		}
		w.push(one)
		fixtures = append(fixtures, one)
	}
	w.releases = fixtures[0]
	w.service = registrytest.Serve(w.t, registrytest.Options{}, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		for _, one := range fixtures {
			probe := httptest.NewRecorder()
			one.ServeHTTP(probe, r)
			if probe.Code == http.StatusOK && !strings.Contains(probe.Body.String(), `"nodes":[]`) {
				one.ServeHTTP(rw, r)
				return
			}
		}
		fixtures[0].ServeHTTP(rw, r)
	}))
	w.env[updates.SignatureURLVariable] = w.service.URL() + releasetest.SignaturesPath
	w.env[updates.UpdateURLVariable] = w.service.URL() + releasetest.GraphPath
}
