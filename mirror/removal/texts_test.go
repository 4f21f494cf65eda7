package removal

import (
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// TestSelects checks which images a selection of unrecorded content includes.
func TestSelects(t *testing.T) {
	t.Parallel()
	d := digest.FromString("x")
	name := reference.Reference{Host: "mirror.example.com", Path: "site/app/a", Tag: "v1"}
	for selection, want := range map[string]bool{
		"site/app/a": true, "site/app/a:v1": true, "site/app/a@" + d.String(): true, "site/app/*": true, "site/*": true,
		"site/app": false, "site/app/a:v2": false, "site/app/a/*": false, "site/ap/*": false, "app/a": false, "*": false, "site/app/a@" + digest.FromString("y").String(): false,
	} {
		if got := selects(selection, name, d); got != want {
			t.Errorf("%s: %t", selection, got)
		}
	}
}

// TestAgeText checks how long ago a run is said to be.
func TestAgeText(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]string{
		-time.Hour: "0 minutes", time.Minute: "1 minute", 59 * time.Minute: "59 minutes", time.Hour: "1 hour", 23 * time.Hour: "23 hours", 24 * time.Hour: "1 day", 80 * time.Hour: "3 days",
	} {
		if got := ageText(age); got != want {
			t.Errorf("%s: %s, want %s", age, got, want)
		}
	}
}

// TestListedType checks the types of images in lists of oc mirror.
func TestListedType(t *testing.T) {
	t.Parallel()
	for kind, want := range map[plan.ImageKind]string{
		plan.ReleaseImage: "ocpRelease", plan.ComponentImage: "ocpReleaseContent", plan.BootImage: "ocpReleaseContent", plan.GraphImage: "cincinnatiGraph",
		plan.CatalogImage: "operatorCatalog", plan.BundleImage: "operatorBundle", plan.RelatedImage: "operatorRelatedImage", plan.ChartImage: "helmImage", plan.AdditionalImage: "generic",
	} {
		if got := listedType(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
