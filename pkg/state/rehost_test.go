package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

func TestRehost(t *testing.T) {
	record := func(host, prefix string) Record {
		at := func(path string) reference.Reference {
			return reference.Reference{Host: host, Path: prefix + path, Tag: "v1"}
		}
		graph := at("openshift/graph-image")
		return Record{
			Images:   []resources.Image{{Source: reference.Reference{Host: "old", Path: "ocp/a"}, Mirror: at("a")}, {Mirror: reference.Reference{}}},
			Catalogs: []resources.Catalog{{Source: "old/ocp/index:v1", Mirror: at("index")}},
			Releases: []Release{{Version: "4.20.1", Mirror: at("openshift/release-images")}}, GraphData: &graph,
		}
	}
	for _, tt := range [][4]string{{"old", "ocp", "new:8443", "a/b"}, {"old", "ocp", "new", ""}, {"old", "", "new", "x"}} {
		slash := func(prefix string) string {
			if prefix == "" {
				return ""
			}
			return prefix + "/"
		}
		r, before := record(tt[0], slash(tt[1])), record(tt[0], slash(tt[1]))
		copied := r
		fail.On(t, r.Rehost(tt[0], tt[1], tt[2], tt[3]))
		fail.Diff(t, record(tt[2], slash(tt[3])), r)
		if diff := cmp.Diff(before, copied); diff != "" {
			t.Errorf("%v: the lists of another record changed: %s", tt, diff)
		}
	}
	r := record("old", "ocp/")
	if err := r.Rehost("old", "oc", "new", ""); err == nil {
		t.Error("images of another prefix are accepted")
	}
}

func TestManifestOptions(t *testing.T) {
	w := open(t, t.TempDir())
	want := ManifestOptions{For: "openshift-4.20", ICSP: true, AliasOf: "m", PlainHTTP: true, CA: "PEM\n"}
	for range 2 {
		fail.On(t, w.SaveManifestOptions("one", want))
	}
	got, err := w.ManifestOptions("one")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := w.ManifestOptions("two"); got != (ManifestOptions{}) || err != nil {
		t.Errorf("of another mirror: %+v, %v", got, err)
	}
}
