package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// TestSamples mirrors images of the samples operator, directly and over a disk.
func TestSamples(t *testing.T) {
	t.Parallel()
	samples := map[string][]string{
		"ruby": {"quay.io/ubi9/ruby-33:latest", "quay.io/ubi8/ruby-33", "quay.io/ubi8/ruby-30:latest"}, "ruby-old": {"quay.io/ubi8/ruby-25:1"},
		"python": {"quay.io/ubi9/python-312:latest"}, "jenkins": {"quay.io/ocp/jenkins:gone"}, "empty": nil,
	}
	u := releasetest.Definition{Releases: []releasetest.Release{
		{Version: "4.20.5", Components: []string{"cli", "cluster-version-operator", "cluster-samples-operator"}, Samples: samples},
		{Version: "4.20.5", Arch: release.Multi, Components: []string{"cli", "cluster-version-operator", "cluster-samples-operator"}, Samples: samples},
		{Version: "4.20.4", Components: []string{"cli", "cluster-version-operator"}},
	}, Channels: map[string][]string{"stable-4.20": {"4.20.4", "4.20.5"}}}
	w := newPlatformFixture(t, u)
	for _, name := range []string{"ubi9/ruby-33", "ubi8/ruby-33", "ubi8/ruby-30", "ubi9/python-312"} {
		if _, err := w.source.Client().Push(t.Context(), "quay.io/"+name, "latest", mirrortest.FileImage(t, v1.Config{}, map[string]string{"n": name})); err != nil {
			t.Fatal(err)
		}
	}
	platform := func(more, samples string) string { // more ends the channel and the list
		return w.config("imageset.yaml", "  platform: {channels: [{name: stable-4.20"+more+"}\n  samples: "+samples+"\n")
	}
	config := platform("}]", "[{name: ruby}, {name: 'py*'}]")
	planned := w.must("plan", "-c", config).stdout
	w.says(planned, "4 additional")
	w.must("mirror", "-c", config, w.docker("/direct"))
	w.must("mirror", "-c", config, "file://"+w.path("disk"))
	plug := w.unplug()
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/disk"), "--workspace", w.path("site"))
	plug()
	for _, place := range []string{"direct", "disk"} {
		content := w.stores(place)
		delete(content, releaseRepository)
		delete(content, componentRepository)
		want := []string{"ubi8/ruby-30", "ubi8/ruby-33", "ubi9/python-312", "ubi9/ruby-33"}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(content))); diff != "" {
			t.Errorf("%s: %s", place, diff)
		}
		for name, r := range content {
			if len(r.Tags) != 1 || r.Tags["latest"] == "" {
				t.Errorf("%s: %s has the tags %v", place, name, r.Tags)
			}
		}
	}
	if files := w.tree("site/cluster-resources"); !strings.Contains(strings.Join(slices.Collect(maps.Values(files)), ""), w.mirror.Host+"/disk/ubi9") {
		t.Errorf("no mirror set leads to the samples: %v", slices.Sorted(maps.Keys(files)))
	}
	w.says(w.must("explain", "-c", config, "quay.io/ubi9/python-312:latest").stdout, "samples")

	// An unavailable image of a sample does not withhold the release.
	config = platform("}]", "[{name: jenkins}, {name: empty}]")
	if o := w.gantry("mirror", "-c", config, w.docker("/partial")); o.code != exitPartial || !strings.Contains(o.stderr, "quay.io/ocp/jenkins:gone") {
		t.Errorf("ended with %d: %s", o.code, o.stderr)
	}
	if _, ok := w.stores("partial")[releaseRepository].Tags["4.20.5-x86_64"]; !ok {
		t.Error("the release is not published")
	}
	for _, tc := range []struct {
		code                  int
		more, samples, prints string
	}{
		{exitUsage, "}]", "[{name: rubi}]", `imageset.yaml:5: samples: no release has an image stream "rubi" for its architectures; did you mean "ruby"`},
		{exitUsage, "}]", "[{name: '[a'}]", "syntax error in pattern"},
		{exitUsage, "}]", "[{nam: ruby}]", "nam"},
		{exitOK, ", minVersion: 4.20.4, maxVersion: 4.20.4}]", "[{name: ruby}]", "release 4.20.4-x86_64 has no samples operator"},
		{exitOK, "}], architectures: [multi]", "[{name: '*y'}]", "3 additional"},
	} {
		o := w.gantry("plan", "-c", platform(tc.more, tc.samples))
		if o.code != tc.code || !strings.Contains(o.stdout+o.stderr, tc.prints) {
			t.Errorf("%s: ended with %d, want %d and %q\n%s%s", tc.samples, o.code, tc.code, tc.prints, o.stdout, o.stderr)
		}
	}
}
