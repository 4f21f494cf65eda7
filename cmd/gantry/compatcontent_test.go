package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// compatContentDir has a plan and an archive with a chart, files, a signature, and a catalog made of a template; its
// README describes it.
const compatContentDir = "../../testdata/compat/v1"

// TestContentOfVersion1 checks that a plan and an archive with all kinds of content are read as they were written.
func TestContentOfVersion1(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(compatContentDir, "plan.json"))
	fail.On(t, err)
	p, err := plan.Read(bytes.NewReader(text))
	fail.On(t, err)
	var again bytes.Buffer
	fail.On(t, p.Write(&again))
	fail.Diff(t, string(text), again.String())
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
		fail.On(t, os.Remove(w.path("install.sh")))
	}
}

// mirrored returns what the mirror has below a prefix: "path:tag".
func (w *fixture) mirrored(prefix string) (all []string) {
	w.t.Helper()
	repositories, err := w.mirror.Repositories(prefix)
	fail.On(w.t, err)
	for _, r := range repositories {
		for tag := range r.Tags {
			all = append(all, r.Name+":"+tag)
		}
	}
	slices.Sort(all)
	return all
}
