package resolve_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
)

// realPackages reads packages of public catalogs, with old replaced by new.
func realPackages(t *testing.T, old, new string, packages ...string) *catalog.Catalog {
	t.Helper()
	const folder = "../../../../shared/catalogs"
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		t.Skip("there are no real catalogs beside the checkout")
	}
	r, changed := catalog.NewReader(catalog.Options{}), 0
	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join(folder, pkg, "catalog.*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: got %v, %v", pkg, files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		changed += bytes.Count(text, []byte(old))
		if err := r.File(pkg, bytes.NewReader(bytes.ReplaceAll(text, []byte(old), []byte(new)))); err != nil {
			t.Fatal(err)
		}
	}
	if changed == 0 {
		t.Fatalf("no package contains %q", old)
	}
	c, err := r.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Version ranges of real bundles, in the dependency of another package.
func TestRealRanges(t *testing.T) {
	t.Parallel()
	const dependent = "alloydb-omni-operator.v1.3.0"
	for versions, want := range map[string]string{
		">=1.12.2":                         "stable cert-manager.v1.16.5",
		"1.9.1 || >=1.13.0 <1.14.0":        "stable cert-manager.v1.13.3",
		">=1.11.0 <1.12.2 !1.11.4":         "stable cert-manager.v1.11.0",
		"< 1.5.0":                          "stable cert-manager.v1.4.4",
		">=1.13.1-rc1 <1.13.1":             "stable cert-manager.v1.13.1-rc1", // a pre-release is a version
		">=1.16.0-alpha <1.16.0":           "candidate cert-manager.v1.16.0-beta.0",
		">=1.4.0 <1.4.1 || >1.14.2-a <1.x": "stable cert-manager.v1.4.0",
		">=2.0.0":                          "c has package cert-manager in 45 versions from 1.4.0 to 1.16.5, none of them in the range",
		"<v1.4.0":                          `version range "<v1.4.0"`,
		"latest":                           `version range "latest"`,
	} {
		t.Run(versions, func(t *testing.T) {
			t.Parallel()
			whole := realPackages(t, "versionRange: '>=1.12.2'", "versionRange: '"+versions+"'", "alloydb-omni-operator", "cert-manager")
			all, last := closure(t, []resolve.Catalog{{Name: "c", Wanted: true, Original: whole}}, map[string][]string{"c": {dependent}})
			if strings.HasPrefix(want, "stable ") || strings.HasPrefix(want, "candidate ") {
				if diff := cmp.Diff([]string{"c " + want}, refs(all)); diff != "" || len(last.Unsatisfied) > 0 {
					t.Errorf("unsatisfied %v: %s", last.Unsatisfied, diff)
				}
				if len(all) == 0 || !slices.Contains(all[0].For[0].Bundles, dependent) {
					t.Errorf("the dependents are missing: %+v", all)
				}
				return
			}
			found := slices.ContainsFunc(last.Unsatisfied, func(u resolve.Unsatisfied) bool {
				return strings.Contains(u.Reason, want) && slices.Contains(u.Bundles, dependent)
			})
			if !found {
				t.Errorf("got %v, unsatisfied %v", refs(all), last.Unsatisfied)
			}
		})
	}
}

// The only real olm.constraint, with no alternative available: the reason includes the message of its
// publisher.
func TestRealConstraint(t *testing.T) {
	t.Parallel()
	const failure = `"Service Binding Operator is required"`
	whole := realPackages(t, failure, failure, "dbaas-operator", "ack-rds-controller")
	all, last := closure(t, []resolve.Catalog{{Name: "c", Wanted: true, Original: whole}}, map[string][]string{"c": {"dbaas-operator.v0.5.0"}})
	if diff := cmp.Diff([]string{"c alpha ack-rds-controller.v0.1.3"}, refs(all)); diff != "" {
		t.Error(diff)
	}
	if len(last.Unsatisfied) != 1 || !strings.Contains(last.Unsatisfied[0].String(), "Service Binding Operator is required") {
		t.Errorf("got %v", last.Unsatisfied)
	}
}
