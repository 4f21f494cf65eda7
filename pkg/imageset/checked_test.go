package imageset_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// TestChecked compares configurations that a program made with the same ones in files.
func TestChecked(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"platforms": byPlatforms, "tags": byTag} {
		want, err := imageset.Parse("edge.yaml", []byte(text))
		fail.On(t, err)
		got, err := imageset.Config{Mirror: want.Mirror, ArchiveSize: want.ArchiveSize}.Checked("edge")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got, patterns, noPositions, noWarnings); diff != "" {
			t.Errorf("%s (-file +value):\n%s", name, diff)
		}
	}
}

// TestCheckedProblems checks defaults, and that problems of a value name entries and no lines.
func TestCheckedProblems(t *testing.T) {
	t.Parallel()
	catalog := imageset.Operator{Catalog: "quay.io/a/catalog:v1"}
	full := catalog
	full.Full = true
	for _, tc := range []struct {
		name   string
		mirror imageset.Mirror
		want   string
	}{
		{"nothing", imageset.Mirror{}, "edge: mirror: "},
		{"no reference", imageset.Mirror{AdditionalImages: []imageset.Image{{Name: "app"}}}, "edge: mirror.additionalImages[0].name: "},
		{"twice", imageset.Mirror{Operators: []imageset.Operator{catalog, full}}, "edge: mirror.operators[1]: \"quay.io/a/catalog:v1\" is already above, with other settings"},
		{"an age", imageset.Mirror{Operators: []imageset.Operator{catalog}, MinAge: "soon"}, "edge: mirror.minAge: "},
	} {
		_, err := imageset.Config{Mirror: tc.mirror}.Checked("edge")
		var problems *imageset.Error
		if !errors.As(err, &problems) || len(problems.Problems) == 0 {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := problems.Problems[0].String(); len(got) < len(tc.want) || got[:len(tc.want)] != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
	got, err := imageset.Config{Mirror: imageset.Mirror{Files: []imageset.File{{Path: "tools/oc.tar.gz"}}, Operators: []imageset.Operator{catalog}}}.Checked("edge")
	fail.On(t, err)
	if got.Mirror.Files[0].Target != "oc.tar.gz" || got.Pos.String() != "edge" || got.Mirror.Operators[0].Pos.String() != "edge: mirror.operators[0]" {
		t.Errorf("got %+v", got)
	}
}
