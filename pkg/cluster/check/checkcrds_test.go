package check

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// otterBundle returns a bundle of a catalog that has the manifests: a ClusterServiceVersion and a
// definition with the versions.
func otterBundle(version, versions string) string {
	object := func(text string) string {
		return fmt.Sprintf(`{"type":"olm.bundle.object","value":{"data":%q}}`, base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return fmt.Sprintf(`{"schema":"olm.bundle","package":"otter","name":"otter.v%s","image":"registry.invalid/otter:v%s","properties":[`+
		`{"type":"olm.package","value":{"packageName":"otter","version":%q}},{"type":"olm.gvk","value":{"group":"example.com","kind":"Otter","version":"v1"}},%s,%s]}`,
		version, version, version,
		object(`{"kind":"ClusterServiceVersion","spec":{"installModes":[{"type":"AllNamespaces","supported":true}]}}`),
		object(`{"kind":"CustomResourceDefinition","metadata":{"name":"otters.example.com"},"spec":{"scope":"Cluster","versions":[`+versions+`]}}`))
}

// TestDetours checks that a refused update names a bundle in between that is accepted, if any.
func TestDetours(t *testing.T) {
	t.Parallel()
	version := func(name, stored, schema string) string {
		return fmt.Sprintf(`{"name":%q,"served":true,"storage":%s,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":%s}}}}`, name, stored, schema)
	}
	plain, enum := version("v1", "true", `{"type":"string"}`), version("v1", "true", `{"type":"string","enum":["x"]}`)
	for _, tc := range []struct {
		name                 string
		first, second, third string // versions of the definition in 1.0.0, 1.1.0 and 1.2.0
		want                 []string
	}{
		// 1.2.0 skips 1.1.0 by its range, so OLM v1 updates from 1.0.0 to 1.2.0.
		{"accepted", plain, plain, plain, nil},
		{"refused", plain, plain, enum, []string{"otter.v1.0.0 -> otter.v1.2.0 via ", "otter.v1.1.0 -> otter.v1.2.0 via "}},
		{"refused only in between", plain, version("v1", "true", `{"type":"string","nullable":true}`), plain, []string{"otter.v1.1.0 -> otter.v1.2.0 via "}},
		// The bundle in between stores objects in the new version, and still has the old one.
		{"migration", version("v1beta1", "true", `{"type":"string"}`), plain + "," + version("v1beta1", "false", `{"type":"string"}`), plain,
			[]string{"otter.v1.0.0 -> otter.v1.2.0 via otter.v1.1.0"}},
	} {
		dir := t.TempDir()
		catalog := `{"schema":"olm.package","name":"otter","defaultChannel":"stable"}` +
			`{"schema":"olm.channel","package":"otter","name":"stable","entries":[{"name":"otter.v1.0.0"},{"name":"otter.v1.1.0","replaces":"otter.v1.0.0"},` +
			`{"name":"otter.v1.2.0","replaces":"otter.v1.1.0","skipRange":"<1.2.0"}]}` +
			otterBundle("1.0.0", tc.first) + otterBundle("1.1.0", tc.second) + otterBundle("1.2.0", tc.third)
		fail.On(t, os.WriteFile(filepath.Join(dir, "catalog.json"), []byte(catalog), 0o600))
		result, err := Run(t.Context(), Options{Catalogs: []string{dir}, CRDSafety: true, Workspace: filepath.Join(dir, "none")})
		if result == nil {
			t.Fatal(err)
		}
		got := elements.Map(result.CRDSafety.Refused, func(u ComparedUpdate) string { return u.From + " -> " + u.To + " via " + u.Via })
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		var a *advice.Error
		if mismatch := errors.As(err, &a) && a.Kind == advice.Mismatch; mismatch != (len(tc.want) > 0) {
			t.Errorf("%s: the error is %v", tc.name, err)
		}
	}
}

func TestMirrored(t *testing.T) {
	t.Parallel()
	served, err := reference.Parse("mirror.example.com:5000/site/one/org/index:v1")
	fail.On(t, err)
	for image, want := range map[string][]string{
		"quay.io/org/bundle:v1": {
			"mirror.example.com:5000/site/one/org/org/bundle:v1", "mirror.example.com:5000/site/one/org/bundle:v1",
			"mirror.example.com:5000/site/org/bundle:v1", "mirror.example.com:5000/org/bundle:v1",
		},
		"mirror.example.com:5000/org/bundle:v1": nil,
		"not a reference":                       nil,
	} {
		if diff := cmp.Diff(want, mirrored(served, image)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", image, diff)
		}
	}
	if got := mirrored(reference.Reference{}, "quay.io/org/bundle:v1"); got != nil {
		t.Errorf("without a mirror: %v", got)
	}
}

// TestConversionOfBundle checks that the conversion webhooks of a ClusterServiceVersion count: OLM v1 writes
// them to the definitions that it compares.
func TestConversionOfBundle(t *testing.T) {
	t.Parallel()
	crd := func(name string) string {
		return `{"kind":"CustomResourceDefinition","metadata":{"name":"` + name + `.example.com"},"spec":{"scope":"Cluster"}}`
	}
	const csv = `{"kind":"ClusterServiceVersion","spec":{"webhookdefinitions":[{"type":"ConversionWebhook","conversionCRDs":["otters.example.com","lost.example.com"]},{"type":"ValidatingAdmissionWebhook","conversionCRDs":["seals.example.com"]}]}}`
	b := &catalog.Bundle{Name: "otter.v1"}
	for _, text := range []string{csv, crd("otters"), crd("seals")} {
		value, err := json.Marshal(map[string][]byte{"data": []byte(text)})
		fail.On(t, err)
		b.Properties = append(b.Properties, catalog.Property{Type: "olm.bundle.object", Value: value})
	}
	found, err := definitionsOf(t.Context(), b, nil)
	fail.On(t, err)
	if len(found) != 2 || !found["otters.example.com"].Webhook || found["seals.example.com"].Webhook {
		t.Errorf("got %+v", found)
	}
	if err := setConversion(found, []byte(`{"spec":{"webhookdefinitions":1}}`)); err == nil {
		t.Error("an invalid ClusterServiceVersion is accepted")
	}
}
