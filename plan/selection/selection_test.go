package selection_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/plan/selection"
)

const configuration = `apiVersion: mirror.openshift.io/v2alpha1
kind: ImageSetConfiguration
mirror:
  additionalImages:
  - name: registry.example.com/team/app:v1
`

// TestText compares a configuration that is a value with the same one in a file.
func TestText(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "edge.yaml")
	fail.On(t, os.WriteFile(file, []byte(configuration), 0o600))
	inFile, value := &selection.Selection{Config: file}, &selection.Selection{Config: file, Text: []byte(configuration)}
	want, err := inFile.Load()
	fail.On(t, err)
	got, err := value.Load()
	fail.On(t, err)
	if diff := cmp.Diff(want.Config.Mirror.AdditionalImages, got.Config.Mirror.AdditionalImages); diff != "" || len(got.Config.Mirror.AdditionalImages) != 1 {
		t.Errorf("%+v: %s", got.Config.Mirror.AdditionalImages, diff)
	}
	if d := digest.FromString(configuration); inFile.Digest() != d || value.Digest() != d {
		t.Errorf("got %s and %s, want %s", inFile.Digest(), value.Digest(), d)
	}
}

// TestValue compares a configuration that a program made with the same text.
func TestValue(t *testing.T) {
	t.Parallel()
	made := imageset.Config{Mirror: imageset.Mirror{AdditionalImages: []imageset.Image{{Name: "registry.example.com/team/app:v1"}}}}
	text, value := &selection.Selection{Config: "edge", Text: []byte(configuration)}, &selection.Selection{Config: "edge", Value: &made}
	want, err := text.Load()
	fail.On(t, err)
	got, err := value.Load()
	fail.On(t, err)
	fail.Diff(t, want.Config.Mirror, got.Config.Mirror, cmpopts.IgnoreTypes(imageset.Position{}))
	other := imageset.Config{Mirror: imageset.Mirror{AdditionalImages: []imageset.Image{{Name: "registry.example.com/team/app:v2"}}}}
	if d := value.Digest(); d == "" || d == (&selection.Selection{Config: "edge", Value: &other}).Digest() {
		t.Errorf("the digest is %s", d)
	}
	made.Mirror.AdditionalImages[0].Name = "app"
	if _, err := value.Load(); advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), "edge: mirror.additionalImages[0].name: ") {
		t.Errorf("an image without a registry: %v", err)
	}
}

// TestTextIsNotRead checks that no file is read for a configuration that is a value, and where problems of it are.
func TestTextIsNotRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"valid", configuration, ""},
		{"misspelled", strings.Replace(configuration, "additionalImages", "additionalImagse", 1), "edge:4"},
		{"empty", "", "edge"},
	} {
		s := &selection.Selection{Config: "edge", Text: []byte(tc.text)}
		_, err := s.Load()
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		if err == nil || advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

// TestWithoutConfiguration checks the errors of selections that lack what their options need.
func TestWithoutConfiguration(t *testing.T) {
	t.Parallel()
	absent := filepath.Join(t.TempDir(), "absent.yaml")
	for _, s := range []*selection.Selection{
		{Config: absent},
		{Installed: []string{absent}},
		{Config: "edge", Text: []byte(configuration), PlatformsMode: "all"},
		{Config: "edge", Text: []byte(configuration), MinAge: time.Hour},
		{Config: "edge", Text: []byte(configuration), PlatformsMode: "sparse"}, // nothing selects platforms
	} {
		if _, err := s.Load(); advice.KindOf(err) != advice.Input {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if (&selection.Selection{Config: absent}).Digest() != "" {
		t.Error("a file that does not exist has a digest")
	}
}
