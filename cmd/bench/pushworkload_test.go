package main

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestPushWorkload checks that everything that the catalog of a workload names can be pulled, and
// that the same shape gives the same bytes.
func TestPushWorkload(t *testing.T) {
	t.Parallel()
	shape := shape{
		packages: 2, bundles: 3, operands: 3, bases: 2, layersLeast: 3, layersMost: 6,
		baseSize: 20_000, layerSize: 5_000, indexes: 40, signed: 50, changed: 60,
	}
	pushed := func(ctx context.Context) (*registrytest.Client, []item) {
		s := httptest.NewServer(registrytest.Memory())
		t.Cleanup(s.Close)
		c := registrytest.NewClient(strings.TrimPrefix(s.URL, "http://"))
		placed, err := push(ctx, c, "registry.example.com", shape)
		if err != nil {
			t.Fatal(err)
		}
		return c, placed
	}
	c, placed := pushed(t.Context())
	kinds := map[string]int{}
	for _, p := range placed {
		kinds[p.kind]++
		pulled, err := c.Pull(t.Context(), p.repository, p.tag)
		if err != nil {
			t.Fatal(err)
		}
		if pulled.Digest != p.digest {
			t.Errorf("%s:%s is %s, listed as %s", p.repository, p.tag, pulled.Digest, p.digest)
		}
	}
	if kinds["catalog"] != 1 || kinds["bundle"] != 6 {
		t.Errorf("there are %v, want 1 catalog and 6 bundles", kinds)
	}
	for _, kind := range []string{"related", "index", "sig"} {
		if kinds[kind] == 0 {
			t.Errorf("there is no %s", kind)
		}
	}
	v, err := c.VerifyCatalog(t.Context(), "catalog/operators", "v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := kinds["bundle"] + kinds["related"] + kinds["index"]; len(v.Images) != want {
		t.Errorf("the catalog names %d images, want the %d that were pushed", len(v.Images), want)
	}
	_, again := pushed(t.Context())
	if diff := cmp.Diff(placed, again, cmp.AllowUnexported(item{})); diff != "" {
		t.Errorf("another time (-first +second):\n%s", diff)
	}
}
