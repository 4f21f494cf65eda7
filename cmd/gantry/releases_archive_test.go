package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
)

// TestArchiveNewRelease carries releases and then, when the channel has a new one, only the content
// that the site does not have.
func TestArchiveNewRelease(t *testing.T) {
	t.Parallel()
	long(t)
	later := releasetest.Small()
	before := later
	before.Channels = map[string][]string{"fast-4.20": {"4.18.1", "4.18.2", "4.19.1", "4.19.2", "4.20.1"}}
	before.Blocked = nil
	later.Blocked = nil
	w := newPlatformFixture(t, before)
	w.serve(before)
	isc := w.config("imageset.yaml", `  platform:
    graph: true
    kubeVirtContainer: true
    channels: [{name: fast-4.20, from: [4.18.1]}]
`)
	m := &archiveSeries{fixture: w.fixture, isc: []string{"", isc, isc, isc}, disks: []string{""}}
	for _, n := range []string{"1", "2", "3"} {
		m.disks = append(m.disks, fileScheme+w.path("disk"+n))
	}
	first := []string{"4.18.1-x86_64", "4.19.2-x86_64", "4.20.1-x86_64"}
	m.writeMonth(1)
	plug := w.unplug()
	m.must(m.importArgs("site", 1)...)
	plug()
	w.holds("site", first...)
	w.attested("at-site", first...)

	// 4.20.2 is new. Content that it shares with 4.20.1 is omitted.
	w.serve(later)
	w.source.ResetLog()
	o := m.writeMonth(2)
	m.says(o.stdout, "Sequence 2 omits ")
	for _, r := range w.source.Log() {
		if r.Kind() == "GET blob" && strings.Contains(r.Path, w.payload("4.20.1-x86_64").Images["cli"].Encoded()) {
			t.Errorf("%s was read again", r.Path)
		}
	}
	if one, two := m.size(1), m.size(2); two >= one {
		t.Errorf("the archive of the new content has %d bytes, the first %d", two, one)
	}
	plug = w.unplug()
	m.must("verify", m.disks[2])
	m.refuse(exitMismatch, []string{"sequence 2 builds on 1"}, m.importArgs("elsewhere", 2)...)
	m.must(m.importArgs("site", 2)...)
	m.must("verify", "--from", m.disks[2], m.docker("/site"), "--workspace", m.path("at-site"))
	plug()
	all := append(first, "4.20.2-x86_64")
	w.holds("site", all...)
	w.attested("at-site", all...)

	// Nothing is new.
	m.says(m.writeMonth(3).stdout, "nothing to carry")

	// Mirroring directly gives the same result.
	w.must("mirror", "-c", isc, w.docker("/near"))
	carried, direct := w.stores("site"), w.stores("near")
	for name, r := range direct {
		for tag, d := range r.Tags {
			if carried[name].Tags[tag] != d {
				t.Errorf("%s:%s is %s where it was carried, and %s where it was not", name, tag, carried[name].Tags[tag], d)
			}
		}
	}
	if diff := cmp.Diff(w.manifests("workspace")["idms-release-0.yaml"], strings.ReplaceAll(w.manifests("at-site")["idms-release-0.yaml"], "/site/", "/near/")); diff != "" {
		t.Errorf("mirror sets (-direct +carried):\n%s", diff)
	}
}
