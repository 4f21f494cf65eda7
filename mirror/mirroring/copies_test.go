package mirroring_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/env"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestEachBlobOnce checks that a run reads no manifest and no blob twice, and mounts what the mirror has in another
// repository.
func TestEachBlobOnce(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, rt.Options{})
	s.Source.ResetLog()
	s.Mirrored(s.Path("imageset.yaml"), s.Docker(""))
	read := map[string]int{}
	for _, r := range s.Source.Log() {
		if r.Kind() == "GET blob" || r.Kind() == "GET manifest" {
			name := r.Path
			if i := strings.Index(name, "sha256:"); i >= 0 {
				name = name[i:]
			}
			read[name]++
		}
	}
	for what, n := range read {
		if n > 1 {
			t.Errorf("%s was read %d times", what, n)
		}
	}
	var puts, mounts int
	for _, r := range s.Mirror.Log() {
		switch {
		case r.Kind() == "PUT upload":
			puts++
		case r.Kind() == "POST mount" && r.Status == http.StatusCreated:
			mounts++
		}
	}
	if len(read) == 0 || puts == 0 || mounts == 0 {
		t.Errorf("%d reads, %d uploads, %d mounts: want some of each", len(read), puts, mounts)
	}
}

// TestLayoutAsSource mirrors to a layout, twice, and from there the catalog to a registry with a limit of path components.
func TestLayoutAsSource(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, rt.Options{})
	isc, to := s.Path("imageset.yaml"), env.LayoutScheme+s.Path("layout")
	s.Mirrored(isc, to)
	if again := s.Mirrored(isc, to); again.Report.Copied > 0 {
		t.Errorf("a second run: %+v", again.Report)
	}
	second := s.Config("second.yaml", "  operators:\n  - catalog: "+to+":"+mirrortest.Acme+":v4.20\n    full: true\n    targetCatalog: again/index\n    targetTag: v4.20\n")
	s.Mirrored(second, s.Docker("team"), func(o *mirroring.Options) { o.MaxNestedPaths = 2 })
	flat := func(path string) string { return "team/" + strings.ReplaceAll(path, "/", "-") }
	if v, err := s.Mirror.Client().VerifyCatalog(t.Context(), flat("again/index"), "v4.20", flat); err != nil || len(v.Bundles) != 4 {
		t.Errorf("%v, %v", v.Bundles, err)
	}
}
