package authoring

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

func TestFolderNames(t *testing.T) {
	catalogs := []imageset.Operator{
		{Catalog: "quay.io/org/catalog:v4.20"},
		{Catalog: "dir://some/catalog"},
		{Catalog: "quay.io/org/catalog@sha256:" + strings.Repeat("a", 64), TargetTag: "v2"},
		{Catalog: "quay.io/a/same:v1"},
		{Catalog: "quay.io/b/same:v1"},
		{Catalog: "quay.io/c/other:v1", TargetCatalog: "my/same-v1-5"},
		{Catalog: "quay.io/c/other:v1", TargetCatalog: "my/other", TargetTag: "v3"},
	}
	want := []string{"catalog-v4.20", "catalog", "catalog-v2", "same-v1-4", "same-v1-5-5", "same-v1-5", "other-v3"}
	fail.Diff(t, want, folderNames(catalogs))
}
