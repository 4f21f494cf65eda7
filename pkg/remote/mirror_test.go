package remote_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
)

func loadConf(t *testing.T, conf string) *registries.Config {
	t.Helper()
	dir := t.TempDir()
	fail.On(t, os.WriteFile(filepath.Join(dir, "registries.conf"), []byte(conf), 0o600))
	c, err := registries.Load(registries.Options{SystemDir: dir, Home: dir, Getenv: func(string) string { return "" }})
	fail.On(t, err)
	return c
}

func TestMirrors(t *testing.T) {
	blob := []byte("{}")
	manifest := manifestOf(blob)
	// The first mirror is not there, the second has nothing, the third has it.
	gone := startRegistry(t, nil)
	goneHost := repoAt(gone, "").Host
	gone.Close()
	count := func(f *faults) int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.seen
	}
	none, full := &faults{method: http.MethodGet, part: "/v2/m/"}, &faults{method: http.MethodGet, part: "/v2/org/"}
	empty, filled := startRegistry(t, none.wrap), startRegistry(t, full.wrap)
	seed(t, filled, blob, manifest)
	conf := loadConf(t, fmt.Sprintf(`
[[registry]]
location = "quay.example"
[[registry.mirror]]
location = "%s"
[[registry.mirror]]
location = "%s/m"
[[registry.mirror]]
location = "%s"
`, goneHost, repoAt(empty, "").Host, repoAt(filled, "").Host))
	c := newClient(t, remote.Options{Registries: conf, Clock: newClock()})
	ref := mustParse(t, "quay.example/org/name:v1")
	desc, raw, err := c.Manifest(t.Context(), ref)
	if err != nil || string(raw) != string(manifest) {
		t.Fatal(err)
	}
	for range 3 {
		r, err := c.Blob(t.Context(), ref, describe(blob), 0)
		fail.On(t, err)
		fail.On(t, r.Close())
	}
	_, _, err = c.Manifest(t.Context(), ref.WithDigest(desc.Digest))
	fail.On(t, err)
	fail.Diff(t, []int{1, 5}, []int{count(none), count(full)})
	// A tag is requested from the mirrors in the order of the file.
	if _, _, err := c.Manifest(t.Context(), ref); err != nil || count(none) != 2 {
		t.Errorf("the empty mirror saw %d requests, %v", count(none), err)
	}
	if n := c.Stats().Requests["GET ping"]; n < 5+4 || n > 7+4 {
		t.Errorf("%d pings, want one and the retries of ten seconds of the mirror that is gone, and two of each other", n)
	}

	_, _, err = newClient(t, remote.Options{Registries: conf, Clock: newClock(), Proxy: throughTLS(t, http.NotFound)}).Manifest(t.Context(), mustParse(t, "quay.example/a:v1"))
	if err == nil || !strings.Contains(err.Error(), goneHost) || !strings.Contains(err.Error(), "tried before") {
		t.Errorf("the mirrors are not named: %v", err)
	}
}

func TestDestinationIgnoresLocations(t *testing.T) {
	s := startRegistry(t, nil)
	host := repoAt(s, "").Host
	conf := loadConf(t, fmt.Sprintf("[[registry]]\nprefix = %q\nlocation = \"nowhere.example\"\n[[registry]]\nlocation = \"closed.example\"\nblocked = true\n", host))
	c := newClient(t, remote.Options{Side: remote.Destination, Registries: conf})
	blob := []byte("{}")
	_, err := c.PushBlob(t.Context(), repoAt(s, "a"), describe(blob), nil, opener(blob))
	fail.On(t, err)
	if ok, err := c.BlobExists(t.Context(), repoAt(s, "a"), describe(blob)); !ok || err != nil {
		t.Error(ok, err)
	}
	closed := mustParse(t, "closed.example/a:v1")
	if err := c.PushManifest(t.Context(), closed, "m/m", blob); !errors.Is(err, registries.ErrBlocked) {
		t.Error(err)
	}
	if _, err := c.Resolve(t.Context(), closed); !errors.Is(err, registries.ErrBlocked) {
		t.Error(err)
	}
}
