package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// TestWithheldReleaseIsNotServed carries a release with an image that is missing at the source.
// Such a release must not get its tag, because update services find tagged releases and offer them
// to clusters.
func TestWithheldReleaseIsNotServed(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	isc := w.config("imageset.yaml", twoReleases)
	const held, other = "4.20.2-x86_64", "4.19.2-x86_64"
	part := w.payload(held).Images["rhel-coreos"]
	w.source.Script(rt.Rule{Path: part.String(), Action: rt.Status(http.StatusNotFound)})
	disk := fileScheme + w.path("disk")
	w.ended(w.gantry("mirror", "-c", isc, disk, "--workspace", w.path("carry")), exitPartial, part.String(), "releases that name these images will be withheld")

	plug := w.unplug()
	s := serveDisk(w.fixture, disk, "--resources", w.path("served"))
	if !slices.ContainsFunc(s.NotServed, func(source string) bool { return strings.Contains(source, part.String()) }) {
		t.Errorf("not served: %q", s.NotServed)
	}
	const at = "/v2/" + releaseRepository + "/manifests/"
	s.get(at+other, http.StatusOK)
	s.get(at+held, http.StatusNotFound)
	s.get(at+w.payload(held).Digest.String(), http.StatusNotFound)
	for release, want := range map[string]bool{other: true, held: false} {
		_, err := os.Stat(filepath.Join(w.path("served"), resources.SignatureFile(w.payload(release).Digest)))
		if there := err == nil; there != want {
			t.Errorf("the ConfigMap of %s is there: %v", release, there)
		}
	}
	s.end(os.Interrupt)
	w.withheld(w.gantry("mirror", "--from", disk, w.docker("/carried"), "--workspace", w.path("far")), "carried", "far", held, other, part.String())
	plug()
}

// TestReleaseServedInPart serves an archive of a release without the earlier archive that has some
// of its images.
func TestReleaseServedInPart(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	for _, v := range []string{"4.20.1", "4.20.2"} {
		cfg := w.config("imageset.yaml", "  platform:\n    channels:\n    - {name: fast-4.20, minVersion: 4.20.1, maxVersion: "+v+"}\n")
		w.must("mirror", "-c", cfg, fileScheme+w.path(v))
	}
	served := func(want int, folders ...string) {
		t.Helper()
		s := serveDisk(w.fixture, folders...)
		for _, release := range []string{"4.20.1-x86_64", "4.20.2-x86_64"} {
			s.get("/v2/"+releaseRepository+"/manifests/"+release, want)
		}
		s.end(os.Interrupt)
	}
	served(http.StatusNotFound, fileScheme+w.path("4.20.2"))
	served(http.StatusOK, fileScheme+w.path("4.20.2"), fileScheme+w.path("4.20.1"))
}
