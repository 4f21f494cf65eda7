package registrytest

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPushWorkload checks that everything that the catalog of a workload names can be pulled, and
// that the same shape gives the same bytes.
func TestPushWorkload(t *testing.T) {
	t.Parallel()
	shape := Shape{
		Packages: 2, Bundles: 3, Operands: 3, Bases: 2, LayersLeast: 3, LayersMost: 6,
		BaseSize: 20_000, LayerSize: 5_000, Indexes: 40, Signed: 50, Changed: 60,
	}
	push := func(ctx context.Context) (*Client, []Placed) {
		s := httptest.NewServer(Memory())
		t.Cleanup(s.Close)
		c := NewClient(strings.TrimPrefix(s.URL, "http://"))
		placed, err := PushWorkload(ctx, c, "registry.example.com", shape)
		if err != nil {
			t.Fatal(err)
		}
		return c, placed
	}
	c, placed := push(t.Context())
	kinds := map[string]int{}
	for _, p := range placed {
		kinds[p.Kind]++
		pulled, err := c.Pull(t.Context(), p.Repository, p.Tag)
		if err != nil {
			t.Fatal(err)
		}
		if pulled.Digest != p.Digest {
			t.Errorf("%s:%s is %s, listed as %s", p.Repository, p.Tag, pulled.Digest, p.Digest)
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
	_, again := push(t.Context())
	if diff := cmp.Diff(placed, again); diff != "" {
		t.Errorf("another time (-first +second):\n%s", diff)
	}
}
