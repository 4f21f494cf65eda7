package authoring_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// built builds a catalog. It must succeed.
func built(s *mirrortest.Site, catalog, base, to string) *authoring.BuiltCatalog {
	s.T.Helper()
	r, err := authoring.BuildCatalog(s.T.Context(), authoring.BuildOptions{Env: s.Env, Workspace: s.Workspace(), Catalog: catalog, Base: base, Destination: to})
	if err != nil {
		s.T.Fatal(err)
	}
	return r
}

// same checks that two catalogs do not differ.
func same(s *mirrortest.Site, a, b string) {
	s.T.Helper()
	d, err := authoring.CompareCatalogs(s.T.Context(), authoring.CompareCatalogsOptions{Env: s.Env, Workspace: s.Workspace(), Old: a, New: b})
	if err != nil || !d.Empty() {
		s.T.Errorf("%s and %s differ: %+v, %v", a, b, d, err)
	}
}

// TestBuildCatalog builds a folder without a base, on an image with opm and on another catalog, and pulls the result with
// another client.
func TestBuildCatalog(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	const opm, shell = "registry.example.com/tools/opm:v1", "registry.example.com/tools/shell:v1"
	s.Push(opm, mirrortest.FileImage(t, v1.Config{Entrypoint: []string{"/bin/opm"}, Cmd: []string{"version"}}, map[string]string{"bin/opm": "opm"}))
	s.Push(shell, mirrortest.FileImage(t, v1.Config{Entrypoint: []string{"/bin/sh"}}, map[string]string{"bin/sh": "sh"}))
	serve := []string{"serve", "/configs"}
	for _, tc := range []struct {
		name, base string
		manifests  int // index and platforms
		entrypoint []string
		cmd        []string
	}{
		{"scratch", "", 5, nil, nil},
		{"opm", opm, 1, []string{"/bin/opm"}, serve},
		{"catalog", mirrortest.RiverRef, 3, []string{"/bin/opm"}, serve},
	} {
		to := s.Docker("made/" + tc.name + ":v1")
		first := built(s, s.Path("zoo"), tc.base, to)
		s.Mirror.ResetLog()
		if diff := cmp.Diff(first, built(s, s.Path("zoo"), tc.base, to)); diff != "" {
			t.Errorf("%s: the same folder gave something else: %s", tc.name, diff)
		}
		if log := mirrortest.Requests(s.Mirror, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete); len(log) > 0 {
			t.Errorf("%s: a second build changed the registry: %v", tc.name, log)
		}
		pulled, err := s.Mirror.Client().Pull(t.Context(), "made/"+tc.name, "v1")
		fail.On(t, err)
		image := s.Mirror.Host + "/made/" + tc.name + ":v1"
		want := &authoring.BuiltCatalog{Version: 1, Image: image + "@" + pulled.Digest.String(), Digest: pulled.Digest.String(), BinaryLess: tc.base == "", Notes: first.Notes}
		if diff := cmp.Diff(want, first); diff != "" || pulled.Manifests != tc.manifests {
			t.Errorf("%s: pulled %d manifests, want %d (-want +got):\n%s", tc.name, pulled.Manifests, tc.manifests, diff)
		}
		v, err := authoring.ValidateCatalog(t.Context(), authoring.ValidateOptions{Env: s.Env, Workspace: s.Workspace(), Catalog: image})
		if err != nil || !v.Passed || v.Packages != 4 || v.Channels != 5 || v.Bundles != 9 {
			t.Errorf("%s: %+v, %v", tc.name, v, err)
		}
		same(s, s.Path("zoo"), image)
		built(s, s.Path("zoo"), tc.base, "oci://"+s.Path(tc.name))
		checkLayout(t, s.Path(tc.name), first.Digest, tc.entrypoint, tc.cmd)
		same(s, s.Path("zoo"), "oci://"+s.Path(tc.name))
	}
	// A command that cannot serve the catalog is noted. The tag defaults to latest.
	odd := built(s, s.Path("zoo"), shell, s.Docker("made/shell"))
	if !strings.HasPrefix(odd.Image, s.Mirror.Host+"/made/shell:latest@sha256:") || !strings.Contains(strings.Join(odd.Notes, "\n"), "is not opm") {
		t.Errorf("on a shell: %+v", odd)
	}
	// The layout has other images.
	s.Mirrored(s.Images(mirrortest.RiverRef), "oci://"+s.Path("shared"))
	for range 2 {
		built(s, s.Path("zoo"), "", "oci://"+s.Path("shared"))
		if names := layoutNames(t, s.Path("shared")); len(names) != 2 || !slices.Contains(names, "shared:latest") {
			t.Errorf("the layout has %q", names)
		}
	}
}

// TestBuildCatalogForms builds the same image from all formats of a catalog.
func TestBuildCatalogForms(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	sources := []string{s.Path("zoo"), mirrortest.ZooRef}
	for _, form := range []folder.Form{folder.JSON, folder.YAML} {
		dir := s.Path("as-" + string(form))
		r, err := authoring.ConvertCatalog(t.Context(), authoring.ConvertOptions{Env: s.Env, Workspace: s.Workspace(), Catalog: s.Path("zoo"), OutputDir: dir, Files: form})
		if diff := cmp.Diff(&authoring.Converted{Version: 1, Folder: dir, Packages: []string{"heron", "otter", "pond", "vole"}}, r); err != nil || diff != "" {
			t.Errorf("%v, %s", err, diff)
		}
		sources = append(sources, dir)
	}
	first := built(s, sources[0], "", s.Docker("forms/any:v1"))
	for _, from := range sources[1:] {
		if diff := cmp.Diff(first, built(s, from, "", s.Docker("forms/any:v1"))); diff != "" {
			t.Errorf("%s: %s", from, diff)
		}
	}
}

func layoutNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	idx, err := layout.ImageIndexFromPath(dir)
	fail.On(t, err)
	m, err := idx.IndexManifest()
	fail.On(t, err)
	return elements.Map(m.Manifests, func(d v1.Descriptor) string { return d.Annotations["org.opencontainers.image.ref.name"] })
}

// checkLayout reads a layout with go-containerregistry: each image must be complete and have the label with the path of
// its catalog.
func checkLayout(t *testing.T, dir, digest string, entrypoint, cmd []string) {
	t.Helper()
	idx, err := layout.ImageIndexFromPath(dir)
	fail.On(t, err)
	if err := validate.Index(idx); err != nil {
		t.Error(err)
	}
	m, err := idx.IndexManifest()
	fail.On(t, err)
	if len(m.Manifests) != 1 || m.Manifests[0].Digest.String() != digest {
		t.Fatalf("the layout names %+v, want %s", m.Manifests, digest)
	}
	platforms := m.Manifests
	if platforms[0].MediaType.IsIndex() {
		if idx, err = idx.ImageIndex(platforms[0].Digest); err != nil {
			t.Fatal(err)
		}
		if m, err = idx.IndexManifest(); err != nil {
			t.Fatal(err)
		}
		platforms = m.Manifests
	}
	for _, p := range platforms {
		img, err := idx.Image(p.Digest)
		fail.On(t, err)
		file, err := img.ConfigFile()
		fail.On(t, err)
		if label := file.Config.Labels[image.ConfigsLabel]; label != "/configs" {
			t.Errorf("%s: the label is %q", file.Architecture, label)
		}
		if diff := cmp.Diff([][]string{entrypoint, cmd}, [][]string{file.Config.Entrypoint, file.Config.Cmd}); diff != "" {
			t.Errorf("%s: entrypoint and cmd: %s", file.Architecture, diff)
		}
	}
}

func TestBuildCatalogRefused(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	broken, zoo, to := s.Write("broken.yaml", "schema: olm.package\nname: a\ndefaultChannel: b\n"), s.Path("zoo"), s.Docker("made/refused")
	s.Mirror.ResetLog()
	for words, o := range map[string]authoring.BuildOptions{
		"instead of a digest":                {Catalog: zoo, Destination: to + "@sha256:" + strings.Repeat("0", 64)},
		"oci://":                             {Catalog: zoo, Destination: s.Archive("disk")},
		"names no registry and repository":   {Catalog: zoo, Destination: "docker://registry.example:5000"}, // not an image of docker.io
		"give only the folder":               {Catalog: zoo, Destination: "oci://layout:v1"},
		"no such file":                       {Catalog: s.Path("absent"), Destination: to},
		"is invalid":                         {Catalog: broken, Destination: to},
		"registry.example.com/tools/none:v1": {Catalog: zoo, Destination: to, Base: "registry.example.com/tools/none:v1"},
	} {
		o.Env, o.Workspace = s.Env, s.Workspace()
		kind := advice.Input
		if o.Base != "" || o.Catalog == broken {
			kind = advice.Failure
		}
		_, err := authoring.BuildCatalog(t.Context(), o)
		mirrortest.Refused(t, err, kind, words)
	}
	if log := mirrortest.Requests(s.Mirror, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete); len(log) > 0 {
		t.Errorf("the registry was changed: %v", log)
	}
}

// TestBuildCatalogWithCredentials pushes to a registry that requires TLS and a password. Without them, the error says
// what to do.
func TestBuildCatalogWithCredentials(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.Catalogs(t)
	mirror := registrytest.Start(t, registrytest.Options{TLS: true, Auth: registrytest.TokenAuth})
	for _, authFile := range []string{"", mirror.AuthFile} {
		e := s.NewEnv()
		e.Destination.CertDir, e.Destination.AuthFile = filepath.Dir(mirror.CAFile), authFile
		_, err := authoring.BuildCatalog(t.Context(), authoring.BuildOptions{Env: e, Workspace: s.Workspace(), Catalog: s.Path("zoo"), Destination: "docker://" + mirror.Host + "/made/zoo:v1"})
		if authFile == "" {
			mirrortest.Refused(t, err, advice.Unauthorized, mirror.Host, "gantry registry login")
		} else if err != nil {
			t.Error(err)
		}
	}
	if _, err := mirror.Client().Pull(t.Context(), "made/zoo", "v1"); err != nil {
		t.Error(err)
	}
}
