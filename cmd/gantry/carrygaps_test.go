package main

import (
	"net/http"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestHeldCatalogIsCarried brings with the next archive the catalog that a site held
// back, since an image that it names was missing when the first was written.
func TestHeldCatalogIsCarried(t *testing.T) {
	t.Parallel()
	m := newMonths(t)
	m.isc[2] = m.isc[1]
	m.source.Script(registrytest.Rule{Path: "/lantern/store/manifests/", Action: registrytest.Status(http.StatusNotFound)})
	m.refuse(exitPartial, []string{"lantern/store"}, "mirror", "-c", m.isc[1], m.disks[1], "--name", "ops")
	m.refuse(exitPartial, []string{"lantern/store"}, m.bring("site", 1)...)
	m.source.Script()
	m.carry(2)
	m.must(m.bring("site", 2)...)
	m.verify("site", acme, 1)
}

// TestLessIsNotWhole enters no archive of which packages were left out at the site.
func TestLessIsNotWhole(t *testing.T) {
	t.Parallel()
	m := newMonths(t)
	m.source.Script(registrytest.Rule{Path: "/lantern/store/manifests/", Action: registrytest.Status(http.StatusNotFound)})
	m.refuse(exitPartial, []string{"lantern/store"}, "mirror", "-c", m.isc[2], m.disks[1], "--name", "ops")
	file := m.path("site.json")
	m.refuse(exitPartial, []string{"package is left out"}, append(m.bring("site", 1), "--on-error", "package", "--write-receipt", file)...)
	if r := m.readReceipt(file); len(r.Sets) != 0 || r.Plan != "" {
		t.Errorf("packages were left out, and the receipt has %v", r.Sets)
	}
}
