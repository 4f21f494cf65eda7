package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestCatalogBuild builds a folder without a base, on an image with opm and on another catalog, and
// pulls the result with another client.
func TestCatalogBuild(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	opm := w.source.Host + "/registry.example.com/tools/opm:v1"
	w.push("registry.example.com/tools/opm:v1", fileImage(t, v1.Config{Entrypoint: []string{"/bin/opm"}, Cmd: []string{"version"}}, map[string]string{"bin/opm": "opm"}))
	for _, tc := range []struct {
		name, base string
		manifests  int // index and platforms
		entrypoint []string
		cmd        []string
	}{
		{"scratch", "", 5, nil, nil},
		{"opm", opm, 1, []string{"/bin/opm"}, []string{"serve", "/configs"}},
		{"catalog", riverRef, 3, []string{"/bin/opm"}, []string{"serve", "/configs"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := *w
			w.t = t
			args := []string{"catalog", "build", w.path("zoo"), w.docker("/made/" + tc.name + ":v1")}
			if tc.base != "" {
				args = append(args, "--base", tc.base)
			}
			first := w.must(args...)
			name, digest, _ := strings.Cut(strings.TrimSpace(first.stdout), "\n")
			if want := w.mirror.Host + "/made/" + tc.name + ":v1@" + digest; name != want {
				t.Errorf("the printed image is %s, want %s", name, want)
			}
			w.mirror.ResetLog()
			if again := w.must(args...); again.stdout != first.stdout {
				t.Errorf("the same folder gave\n%sthen\n%s", first.stdout, again.stdout)
			}
			if log := changed(w.mirror.Log()); len(log) > 0 {
				t.Errorf("a second build changed the registry: %v", log)
			}

			pulled, err := w.mirror.Client().Pull(t.Context(), "made/"+tc.name, "v1")
			if err != nil {
				t.Fatal(err)
			}
			if pulled.Digest.String() != digest || pulled.Manifests != tc.manifests {
				t.Errorf("pulled %d manifests below %s, want %d below %s", pulled.Manifests, pulled.Digest, tc.manifests, digest)
			}
			built := w.mirror.Host + "/made/" + tc.name + ":v1"
			if o := w.must("catalog", "validate", built); !strings.Contains(o.stdout, "valid (4 packages, 5 channels, 9 bundles)") {
				t.Errorf("validate printed %s", o.stdout)
			}
			w.must("catalog", "diff", w.path("zoo"), built, "--exit-code")

			w.must(append([]string{"catalog", "build", w.path("zoo"), "oci://" + w.path(tc.name)}, args[4:]...)...)
			checkLayout(t, w.path(tc.name), digest, tc.entrypoint, tc.cmd)
			w.must("catalog", "diff", w.path("zoo"), "oci://"+w.path(tc.name), "--exit-code")
		})
	}
}

// checkLayout reads a layout with go-containerregistry: each image must be complete and have the label
// with the path of its catalog.
func checkLayout(t *testing.T, dir, digest string, entrypoint, cmd []string) {
	t.Helper()
	idx, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(idx); err != nil {
		t.Error(err)
	}
	m, err := idx.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Manifests) != 1 || m.Manifests[0].Digest.String() != digest {
		t.Fatalf("the layout names %+v, want %s", m.Manifests, digest)
	}
	var images []v1.Image
	if root := m.Manifests[0]; root.MediaType.IsIndex() {
		child, err := idx.ImageIndex(root.Digest)
		if err != nil {
			t.Fatal(err)
		}
		platforms, err := child.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range platforms.Manifests {
			img, err := child.Image(p.Digest)
			if err != nil {
				t.Fatal(err)
			}
			images = append(images, img)
		}
	} else {
		img, err := idx.Image(root.Digest)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, img)
	}
	for _, img := range images {
		file, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if label := file.Config.Labels[image.ConfigsLabel]; label != "/configs" {
			t.Errorf("%s: the label is %q", file.Architecture, label)
		}
		if diff := cmp.Diff([][]string{entrypoint, cmd}, [][]string{file.Config.Entrypoint, file.Config.Cmd}); diff != "" {
			t.Errorf("%s: entrypoint and cmd: %s", file.Architecture, diff)
		}
	}
}

// TestCatalogBuildIntoALayout builds into a layout that has other images.
func TestCatalogBuildIntoALayout(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	dir := w.path("shared")
	w.must("mirror", "-c", w.config("one.yaml", "  additionalImages: [{name: '"+riverRef+"'}]\n"), "oci://"+dir)
	names := func() (names []string) {
		idx, err := layout.ImageIndexFromPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		m, err := idx.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range m.Manifests {
			names = append(names, d.Annotations["org.opencontainers.image.ref.name"])
		}
		return names
	}
	before := names()
	for range 2 {
		w.must("catalog", "build", w.path("zoo"), "oci://"+dir)
		if diff := cmp.Diff(append(before, "shared:latest"), names()); diff != "" || len(before) != 1 {
			t.Error(diff)
		}
	}
}

func TestCatalogBuildRefusals(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	broken := w.write("broken.yaml", "schema: olm.package\nname: a\ndefaultChannel: b\n")
	w.mirror.ResetLog()
	to := w.docker("/made/refused")
	for _, tc := range []struct {
		name  string
		code  int
		words []string
		args  []string
	}{
		{"a digest", exitUsage, []string{"instead of a digest"}, []string{w.path("zoo"), to + "@sha256:" + strings.Repeat("0", 64)}},
		{"a disk", exitUsage, []string{"docker://", "oci://"}, []string{w.path("zoo"), "file://" + w.path("disk")}},
		{"an invalid catalog", exitError, []string{"is invalid"}, []string{broken, to}},
		{"no such folder", exitUsage, []string{"no such file"}, []string{w.path("absent"), to}},
		{"no such base", exitError, []string{"registry.example.com/tools/none:v1"}, []string{w.path("zoo"), to, "--base", "registry.example.com/tools/none:v1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := *w
			w.t = t
			w.refuse(tc.code, tc.words, append([]string{"catalog", "build"}, tc.args...)...)
		})
	}
	if log := changed(w.mirror.Log()); len(log) > 0 {
		t.Errorf("the registry was changed: %v", log)
	}
}

// TestCatalogBuildOnAShell builds on an image whose command cannot serve the catalog: the program
// prints a note. The tag defaults to latest.
func TestCatalogBuildOnAShell(t *testing.T) {
	t.Parallel()
	long(t)
	w := newCatalogFixture(t)
	const shell = "registry.example.com/tools/shell:v1"
	w.push(shell, fileImage(t, v1.Config{Entrypoint: []string{"/bin/sh"}}, map[string]string{"bin/sh": "sh"}))
	o := w.must("catalog", "build", w.path("zoo"), w.docker("/made/shell"), "--base", shell)
	if !strings.HasPrefix(o.stdout, w.mirror.Host+"/made/shell:latest@sha256:") || !strings.Contains(o.stderr, "is not opm") {
		t.Errorf("printed\n%s%s", o.stdout, o.stderr)
	}
	if _, err := w.mirror.Client().Pull(t.Context(), "made/shell", "latest"); err != nil {
		t.Error(err)
	}
	var result struct {
		Version    int
		Image      string
		Digest     string
		BinaryLess bool
	}
	o = w.must("catalog", "build", w.path("zoo"), w.docker("/made/plain:v1"), "--output", "json")
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil {
		t.Fatal(err)
	}
	if result.Version != 1 || result.Image != w.mirror.Host+"/made/plain:v1@"+result.Digest || !result.BinaryLess {
		t.Errorf("the JSON is %+v", result)
	}
}

// TestCatalogBuildInputForms builds the same image from all formats of a catalog.
func TestCatalogBuildInputForms(t *testing.T) {
	t.Parallel()
	long(t)
	w := newCatalogFixture(t)
	w.kelpIndex()
	w.must("catalog", "convert", w.path("zoo"), "--output-dir", w.path("json"))
	w.must("catalog", "convert", w.path("zoo"), "--output-dir", w.path("yaml"), "--files", "yaml")
	w.must("catalog", "convert", w.path("kelp.db"), "--output-dir", w.path("kelp"))
	build := func(from string) string {
		o := w.must("catalog", "build", from, w.docker("/forms/any:v1"))
		return o.stdout
	}
	for _, same := range [][]string{{w.path("json"), w.path("zoo"), w.path("yaml"), zooRef}, {w.path("kelp"), w.path("kelp.db")}} {
		first := build(same[0])
		for _, from := range same[1:] {
			if other := build(from); other != first {
				t.Errorf("%s gives\n%s%s gives\n%s", same[0], first, from, other)
			}
		}
	}
}

// TestCatalogBuildWithCredentials pushes to a registry that requires TLS and a password. Without them,
// the error names what is missing.
func TestCatalogBuildWithCredentials(t *testing.T) {
	t.Parallel()
	long(t)
	w := newCatalogFixture(t)
	w.mirror = registrytest.Start(t, registrytest.Options{TLS: true, Auth: registrytest.TokenAuth})
	args := []string{"catalog", "build", w.path("zoo"), w.docker("/made/zoo:v1"), "--dest-cert-dir", filepath.Dir(w.mirror.CAFile)}
	w.refuse(exitUnauthorized, []string{w.mirror.Host, "gantry registry login"}, args...)
	w.must(append(args, "--dest-authfile", w.mirror.AuthFile)...)
	if _, err := w.mirror.Client().Pull(t.Context(), "made/zoo", "v1"); err != nil {
		t.Error(err)
	}
}
