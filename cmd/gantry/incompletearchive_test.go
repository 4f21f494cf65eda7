package main

import (
	"net/http"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestArchiveOfWithheldCatalog checks that the next archive contains a catalog that a site withheld
// because one of its images was missing when the first archive was written.
func TestArchiveOfWithheldCatalog(t *testing.T) {
	t.Parallel()
	m := newArchiveSeries(t)
	m.isc[2] = m.isc[1]
	m.source.Script(registrytest.Rule{Path: "/lantern/store/manifests/", Action: registrytest.Status(http.StatusNotFound)})
	m.refuse(exitPartial, []string{"lantern/store"}, "mirror", "-c", m.isc[1], m.disks[1], "--name", "ops")
	m.refuse(exitPartial, []string{"lantern/store"}, m.importArgs("site", 1)...)
	m.source.Script()
	m.writeMonth(2)
	m.must(m.importArgs("site", 2)...)
	m.verify("site", acme, 1)
}

// TestArchiveWithMissingImages checks that the receipt does not list an archive if the site
// excluded packages of it.
func TestArchiveWithMissingImages(t *testing.T) {
	t.Parallel()
	m := newArchiveSeries(t)
	m.source.Script(registrytest.Rule{Path: "/lantern/store/manifests/", Action: registrytest.Status(http.StatusNotFound)})
	m.refuse(exitPartial, []string{"lantern/store"}, "mirror", "-c", m.isc[2], m.disks[1], "--name", "ops")
	file := m.path("site.json")
	m.refuse(exitPartial, []string{"package is excluded"}, append(m.importArgs("site", 1), "--on-error", "package", "--write-receipt", file)...)
	if r := m.readReceipt(file); len(r.Sets) != 0 || r.Plan != "" {
		t.Errorf("packages were left out, and the receipt has %v", r.Sets)
	}
}
