package selection_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestNames checks the names of image sets.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"": true, "ops-4.20_x": true, "../x": false, "a b": false, ".x": false, strings.Repeat("x", 100): true, strings.Repeat("x", 101): false} {
		if err := selection.CheckName(name); (err == nil) != ok || err != nil && advice.KindOf(err) != advice.Input {
			t.Errorf("%q: %v", name, err)
		}
	}
	for want, in := range map[string][2]string{"imageset": {"", "/etc/imageset.yaml"}, "given": {"given", "x.yaml"}, "a-b": {"", "a b.yaml"}} {
		if got := selection.PlanName(in[0], in[1]); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	p := &plan.Plan{Name: "old"}
	if renamed := selection.Rename(p, "new"); renamed.Name != "new" || p.Name != "old" || selection.Rename(p, "") != p || selection.Rename(nil, "new") != nil {
		t.Errorf("%+v was renamed to %+v", p, renamed)
	}
}

// TestFormats checks to which media types images are converted, and for which destinations.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format, destination string
		ok, converts        bool
	}{
		{"", "oci://x", true, false}, {selection.KeepFormat, "oci://x", true, false}, {"oci", "oci://x", true, true},
		{"docker", "oci://x", false, true}, {"docker", "docker://x", true, true}, {"docker", "file://x", true, true}, {"zip", "file://x", false, true},
	} {
		s := &selection.Selection{DestFormat: tc.format}
		if err := s.CheckFormatOf(tc.destination); (err == nil) != tc.ok || (s.Format() != "") != tc.converts || s.Any() != tc.converts {
			t.Errorf("%s to %s: %q, %v", tc.format, tc.destination, s.Format(), err)
		}
	}
}

// TestLoadConfig checks that the options change the configuration, and that its warnings are sent once.
func TestLoadConfig(t *testing.T) {
	t.Parallel()
	var warned []string
	e := &env.Env{Warn: func(text string) { warned = append(warned, text) }}
	text := strings.Replace(configuration, "mirror:\n", "mirror:\n  minAge: 3d\n  operators:\n  - catalog: registry.example.com/a/b:v1\n    full: true\n    platforms: [{os: linux, architecture: amd64}]\n", 1)
	s := &selection.Selection{Config: "edge.yaml", Text: []byte(text), Dependencies: true, CompleteRelatedImages: true, PlatformsMode: "rewrite"}
	for range 2 {
		got, err := s.LoadConfig(e)
		fail.On(t, err)
		if op := got.Config.Mirror.Operators[0]; !op.Dependencies || op.RelatedImages != "complete" {
			t.Errorf("%+v", op)
		}
		if days, err := s.MinAgeOf(got.Config); err != nil || days != 3 {
			t.Errorf("%d days, %v", days, err)
		}
		if days, err := (&selection.Selection{MinAge: 48 * time.Hour}).MinAgeOf(got.Config); err != nil || days != 2 {
			t.Errorf("%d days, %v", days, err)
		}
	}
	c := &imageset.Config{Pos: imageset.Position{File: "many.yaml"}, Warnings: slices.Repeat([]imageset.Problem{{Message: "old"}}, 25)}
	warned = nil
	for range 2 {
		selection.WarnConfig(e, c)
	}
	if len(warned) != 21 || !strings.Contains(warned[0], "warning: old") || warned[20] != "5 more warnings about many.yaml; gantry config check lists them" {
		t.Errorf("warned %q", warned)
	}
	if _, err := (&selection.Selection{}).LoadConfig(e); advice.KindOf(err) != advice.Input {
		t.Error(err)
	}
	if err := selection.ErrNoSelection(); advice.KindOf(err) != advice.Input || (&selection.Selection{Config: "x"}).Any() || !s.Any() {
		t.Error(err)
	}
	p := selection.ConfigProblem{File: "edge.yaml", Line: 3, Message: "wrong", Hint: "write right"}
	if p.String() != "edge.yaml:3: wrong; write right" {
		t.Error(p)
	}
}
