package main

import (
	"strings"
	"testing"
)

// TestOperatorInstall checks the flags, the notes and the exit statuses. Package operator tests the objects.
func TestOperatorInstall(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	catalog := w.path("zoo")
	install := []string{"operator", "install", "--catalog", catalog, "vole"}
	o := w.must(append(install, "--olm", "classic", "--version", "1.0.0", "--trusted-ca", "--https-proxy", "http://p:1")...)
	w.says(o.stdout, "startingCSV: vole.v1.0.0", "installPlanApproval: Manual", "inject-trusted-cabundle", "name: HTTPS_PROXY")
	w.says(o.stderr, "approve the install plan")
	for args, words := range map[string]string{
		"operator install vole":                                                         "was not used for a mirror|--from",
		"operator install otte --catalog " + catalog:                                    `package "otte" is not in|otter`,
		"operator install vole --for kubernetes --catalog " + catalog:                   "--for|operator-controller-1.11",
		"operator install vole --for openshift-4.20 --olm classic --catalog " + catalog: "--for are for OLM v1",
		"operator install vole --check a --to b --catalog " + catalog:                   "--check and --to exclude each other",
		"operator install vole --trusted-ca --catalog " + catalog:                       "--olm|classic",
	} {
		w.refuse(exitUsage, strings.Split(words, "|"), strings.Fields(args)...)
	}
}
