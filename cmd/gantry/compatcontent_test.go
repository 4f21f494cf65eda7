package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/chart/charttest"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// compatContentDir has a plan and an archive with a chart, files, a signature, and a catalog made of a template; its
// README describes it.
const compatContentDir = "../../testdata/compat/v1"

// TestWriteCompatContent writes these files again with the program of today.
func TestWriteCompatContent(t *testing.T) {
	if os.Getenv(writeCompat) == "" {
		t.Skip("set " + writeCompat + " to write the files again")
	}
	renderer, err := os.Executable() // TestMain has a renderer
	if err != nil {
		t.Fatal(err)
	}
	w := emptyFixture(t, registrytest.Start(t, registrytest.Options{}))
	labels, files := mirrortest.KelpBundle()
	delete(files, "metadata/dependencies.yaml")
	w.push("registry.example.com/kelp/kelp-bundle:v1.2.0", mirrortest.FileImage(t, v1.Config{Labels: labels}, files))
	manager := w.push("registry.example.com/kelp/manager:v1.2.0", mirrortest.FileImage(t, v1.Config{}, map[string]string{"m": ""}))
	w.push("registry.example.com/kelp/anchor:v1", mirrortest.FileImage(t, v1.Config{}, map[string]string{"a": ""}))
	if _, err := w.source.Client().PushSignature(t.Context(), "registry.example.com/kelp/manager", digest.Digest(manager), ".sig", "signed"); err != nil {
		t.Fatal(err)
	}
	w.mkdir("in")
	w.write("in/app-1.0.0.tgz", string(charttest.Chart("app", "1.0.0", "registry.example.com/kelp/anchor:v1")))
	w.write("in/install.sh", "#!/bin/sh\necho installed\n")
	w.write("in/notes.txt", "notes\n")
	w.write("in/semver.yaml", "schema: olm.semver\nstable:\n  bundles:\n  - image: registry.example.com/kelp/kelp-bundle:v1.2.0\n")
	config := w.config("content.yaml", `  operators: [{catalog: "dir://`+w.path("in/semver.yaml")+`", targetCatalog: kelp/index, packages: [{name: kelp}]}]
  additionalImages: [{name: "registry.example.com/kelp/manager:v1.2.0"}]
  helm:
    local: [{name: app, path: "`+w.path("in/app-1.0.0.tgz")+`"}]
  files:
  - {path: "`+w.path("in/install.sh")+`", target: tools/install.sh, executable: true}
  - {path: "`+w.path("in/notes.txt")+`"}
`)
	w.must("plan", "-c", config, "--workspace", w.path("workspace"), "--helm-renderer", renderer, "--lock", w.path("plan.json"))
	w.must("mirror", "-c", config, "--workspace", w.path("workspace"), "--helm-renderer", renderer, "file://"+w.path("disk"))
	for _, name := range []string{"plan.json", "disk"} {
		if err := os.RemoveAll(filepath.Join(compatContentDir, name)); err != nil {
			t.Fatal(err)
		}
		w.replaceTree(w.path(name), filepath.Join(compatContentDir, name), w.dir, compatFolder)
	}
}

// TestContentOfVersion1 checks that a plan and an archive with all kinds of content are read as they were written.
func TestContentOfVersion1(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(compatContentDir, "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := p.Write(&again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), again.String()); diff != "" {
		t.Errorf("the plan (-file +written again):\n%s", diff)
	}
	kinds := map[plan.ImageKind]bool{}
	for _, img := range p.Images {
		kinds[img.Kind] = true
	}
	if len(p.Charts) != 1 || len(p.Files) != 2 || !kinds[plan.SignatureImage] || len(p.Catalogs) != 1 {
		t.Errorf("the plan has %d charts, %d files, %d catalogs and the kinds %v", len(p.Charts), len(p.Files), len(p.Catalogs), kinds)
	}

	w := emptyFixture(t, registrytest.New(t, registrytest.Options{}))
	w.mkdir("disk")
	w.replaceTree(filepath.Join(compatContentDir, "disk"), w.path("disk"))
	disk := "file://" + w.path("disk")
	w.must("verify", disk)
	w.must("mirror", "--from", disk, w.docker("/ocp"), "--workspace", w.path("site"))
	tags := strings.Join(w.mirrored("ocp"), "\n")
	for _, want := range []string{"charts/app:1.0.0", "kelp/index:", "gantry/files:notes.txt", "kelp/manager:v1.2.0", ".sig", "kelp/anchor:v1"} {
		if !strings.Contains(tags, want) {
			t.Errorf("the mirror has no %s:\n%s", want, tags)
		}
	}
	for _, from := range []string{disk, w.docker("/ocp")} {
		w.looked(exitOK, "pull", from, "tools/install.sh", "--to", w.path("install.sh"), "--src-plain-http")
		got, err := os.ReadFile(w.path("install.sh"))
		if err != nil || string(got) != "#!/bin/sh\necho installed\n" {
			t.Errorf("%q, %v", got, err)
		}
		if err := os.Remove(w.path("install.sh")); err != nil {
			t.Fatal(err)
		}
	}
}

// mirrored returns what the mirror has below a prefix: "path:tag".
func (w *fixture) mirrored(prefix string) (all []string) {
	w.t.Helper()
	repositories, err := w.mirror.Repositories(prefix)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range repositories {
		for tag := range r.Tags {
			all = append(all, r.Name+":"+tag)
		}
	}
	slices.Sort(all)
	return all
}
