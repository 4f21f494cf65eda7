package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDeleteDryRun checks that --dry-run prints what a run then deletes, and changes nothing.
func TestDeleteDryRun(t *testing.T) {
	t.Parallel()
	long(t)
	w, list := deletable(t)
	content := func() []registrytest.Repository {
		list, err := w.mirror.Repositories("site") // with the records
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	before := content()
	dry := w.deleted(exitOK, list, "--dry-run")
	if diff := cmp.Diff(before, content()); diff != "" {
		t.Fatalf("the mirror changed:\n%s", diff)
	}
	w.says(w.must("delete", "--dry-run", "--delete-yaml-file", list, w.docker("/site")).stdout, "To delete from ", "To publish again without the bundles:", "Listed and to be deleted:", "Nothing was deleted")
	done := w.deleted(exitOK, list)
	if !dry.DryRun || dry.Deleted != nil || dry.Plan.Empty() || dry.Plan.Totals != done.Plan.Totals || len(dry.Images) == 0 || !slices.Equal(dry.Images, done.Images) || !slices.Equal(dry.Catalogs, done.Catalogs) || !slices.Equal(dry.ImageSets, done.ImageSets) || !slices.Equal(dry.Stays, done.Stays) {
		t.Errorf("a dry run found\n%+v\nthen was deleted\n%+v", dry, done)
	}
	if again := w.deleted(exitOK, list, "--dry-run"); len(again.Images) > 0 || again.Plan == nil || !again.Plan.Empty() {
		t.Errorf("%+v", again)
	}
	w.refuse(exitUsage, []string{"--generate deletes nothing"}, "delete", "--dry-run", "--generate", "-c", w.path("delete.yaml"), w.docker("/site"))
}

// TestDeleteLayout checks where the list is in the layout of oc mirror.
func TestDeleteLayout(t *testing.T) {
	t.Parallel()
	w, list := deletable(t)
	const stanza = "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n"
	workspace := filepath.Dir(filepath.Dir(list))
	ocMirror := filepath.Join(workspace, "working-dir", "delete", "delete-images.yaml")
	if got := w.listed(stanza, "--layout", "oc-mirror"); got != ocMirror {
		t.Errorf("%s", got)
	}
	if got := w.listed(stanza); got != list {
		t.Errorf("%s", got)
	}
	w.must("mirror", "-c", w.path("imageset.yaml"), w.docker("/site"), "--layout", "oc-mirror")
	if got := w.listed(stanza); got != ocMirror {
		t.Errorf("%s", got)
	}
	w.refuse(exitUsage, []string{"--layout is for --generate"}, "delete", "--layout", "gantry", "--delete-yaml-file", list, w.docker("/site"))
	w.refuse(exitUsage, []string{"--layout", "gantry or oc-mirror"}, "delete", "--layout", "x", "--generate", "-c", w.path("delete.yaml"), w.docker("/site"))
}
