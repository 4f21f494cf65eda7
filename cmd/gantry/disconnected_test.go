package main

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// refuseAllBut refuses all connections of the program but those to these addresses, before names are
// looked up. Each refused one fails the test. The environment becomes the one of a new user.
func (w *fixture) refuseAllBut(addresses ...string) {
	w.t.Helper()
	var conf strings.Builder
	allowed := map[string]bool{}
	for _, addr := range addresses {
		allowed[addr] = true
		fmt.Fprintf(&conf, "[[registry]]\nlocation = %q\ninsecure = true\n", addr)
	}
	w.env["CONTAINERS_REGISTRIES_CONF"] = w.write("disconnected.conf", conf.String())
	var mu sync.Mutex
	w.tune = func(o *remote.Options) {
		o.BeforeDial = func(addr string) error {
			if allowed[addr] {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			w.t.Errorf("a connection to %s was attempted", addr)
			return fmt.Errorf("%s is not reachable from here", addr)
		}
	}
}

// A refused connection is found by the test itself: otherwise it could not fail.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"198.51.100.7:443", "registry.invalid:443"} {
		var refused []string
		tune := func(o *remote.Options) {
			o.BeforeDial = func(addr string) error {
				refused = append(refused, addr)
				return fmt.Errorf("%s is not reachable from here", addr)
			}
		}
		var out strings.Builder
		code := (&app{stdout: &out, stderr: &out, env: map[string]string{}, tune: tune}).run(
			[]string{"catalog", "list", strings.TrimSuffix(addr, ":443") + "/catalog:v1", "--retry-times", "0"})
		if code == exitOK || len(refused) == 0 || refused[0] != addr {
			t.Errorf("%s: exit status %d, refused %v\n%s", addr, code, refused, &out)
		}
	}
}

// disconnectedOperators are the commands of a site that has operators in the mirror at to and the archive in
// disk.
func disconnectedOperators(w *fixture, disk, to string) {
	at := strings.TrimPrefix(to, "docker://")
	for _, args := range [][]string{
		{"verify", disk},
		{"archive", "inspect", disk},
		{"archive", "extract", disk, "--to", w.path("layout")},
		{"doctor", to},
		{"registry", "prepare", "--from", disk, to, "--print", "--registry-kind", "quay"},
		{"mirror", "--from", disk, to},
		{"mirror", "--from", disk, to, "--repair-missing", "--read-blobs"},
		{"mirror", "--from", disk, to, "--resources-only"},
		{"verify", to},
		{"verify", "--from", disk, to, "--deep"},
		{"status", to, "--revisions"},
		{"diff", to, disk},
		{"resources", to, "--mirror-host", "other.example.com:8443/c"},
		{"check", at + "/" + acme + ":v4.20", "--cluster-version", "4.20.2"},
		{"catalog", "list", at + "/" + acme + ":v4.20"},
		{"graph", at + "/" + acme + ":v4.20", "lantern"},
		{"operator", "install", "lantern", "--from", to, "--catalog", acme},
		{"operator", "install", "lantern", "--from", disk, "--catalog", "registry.example.com/" + acme + ":v4.20"},
		{"explain", "lantern", "--workspace", w.path("near")},
		{"pull", to},
		{"pull", to, "install.sh", "--to", w.path("pulled.sh")},
		{"config", "from-mirror", to},
		{"prune", to, "--yes"},
		{"delete", "--generate", "-c", w.write("delete.yaml", "kind: DeleteImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\ndelete:\n  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n"), to},
	} {
		w.atSite(args)
	}
}

// atSite runs a command that must not fail, with the workspace of the disconnected site if it has one.
func (w *fixture) atSite(args []string) {
	w.t.Helper()
	run := w.gantry
	switch {
	case slices.Contains([]string{"archive", "pull", "release"}, args[0]):
		run = w.bare
	case !slices.Contains(args, "--workspace"):
		args = append(args, "--workspace", w.path("site"))
	}
	if o := run(args...); o.code != exitOK && o.code != exitSomething {
		w.t.Errorf("gantry %s ended with %d\n%s%s", strings.Join(args, " "), o.code, o.stdout, o.stderr)
	}
}

// TestNothingCallsOut runs the commands of a disconnected site with operators. Connections to anything but the
// mirror are refused.
func TestNothingCallsOut(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	disk := fileScheme + w.path("disk")
	isc := w.write("all.yaml", w.read("imageset.yaml")+"  files:\n  - path: "+w.write("install.sh", "#!/bin/sh\n")+"\n")
	w.must("mirror", "-c", isc, disk, "--workspace", w.path("near"))
	w.source.Script(registrytest.Rule{Action: registrytest.Status(http.StatusForbidden)})
	w.source.ResetLog()
	w.refuseAllBut(w.mirror.Host)
	calls := callsOut(t)
	disconnectedOperators(w, disk, w.docker("/c"))
	served := serveDisk(w, disk)
	if v, err := registrytest.NewClient(served.Address).VerifyCatalog(t.Context(), acme, "v4.20", func(path string) string { return path }); err != nil || len(v.Pulled) == 0 {
		t.Errorf("the served archive: %+v, %v", v, err)
	}
	served.end(os.Interrupt)
	if made := callsOut(t); made != calls {
		t.Errorf("packets were sent to other networks, or names were looked up: %s before, %s after", calls, made)
	}
	for _, r := range w.source.Log() {
		t.Errorf("%s %s was requested from the source", r.Method, r.Path)
	}
}

// TestNothingCallsOutForReleases is TestNothingCallsOut for platform releases with an update graph.
func TestNothingCallsOutForReleases(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	isc := w.config("imageset.yaml", "  platform:\n    graph: true\n    channels: [{name: fast-4.20, from: [4.18.1]}]\n")
	disk := fileScheme + w.path("disk")
	w.must("mirror", "-c", isc, disk, "--workspace", w.path("near"))
	defer w.unplug()()
	w.refuseAllBut(w.mirror.Host)
	delete(w.env, "GANTRY_SIGNATURE_URL")
	calls := callsOut(t)
	to := w.docker("/c")
	release := w.mirror.Host + "/c/" + releaseRepository + ":4.20.2-x86_64"
	for _, args := range [][]string{
		{"mirror", "--from", disk, to},
		{"mirror", "--from", disk, to, "--prune"},
		{"verify", to},
		{"verify", "--from", disk, to},
		{"resources", to},
		{"check", "--platform", to},
		{"check", "--platform", "--from", "4.18.1", "--to", "4.20.2", to},
		{"release", "info", release},
		{"release", "images", release},
		{"release", "info", disk + "#4.20.2"},
		{"release", "manifests", release, "--to", w.path("manifests")},
		{"explain", "4.20.2", "--workspace", w.path("near")},
		{"config", "from-mirror", to},
		{"prune", to, "--yes"},
		{"status", to},
	} {
		w.atSite(args)
	}
	if made := callsOut(t); made != calls {
		t.Errorf("packets were sent to other networks, or names were looked up: %s before, %s after", calls, made)
	}
}
