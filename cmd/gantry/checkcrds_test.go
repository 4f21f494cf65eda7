package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestCheckCRDSafety compares definitions that only the images of the bundles have: in the sources, of a
// configuration and its plan, and in the mirror, when the sources are gone.
func TestCheckCRDSafety(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t, registrytest.Start(t, registrytest.Options{}))
	labels, files := kelpBundle()
	const crd = "manifests/fronds.crd.yaml"
	schemas := []string{"{type: object}", "{type: object, properties: {a: {type: string}}}", "{type: object, properties: {a: {type: string, minLength: 2}}}"}
	catalog := `{"schema":"olm.package","name":"kelp","defaultChannel":"stable"}`
	entries := `{"name":"kelp.v1.0.0"},{"name":"kelp.v1.1.0","replaces":"kelp.v1.0.0"},{"name":"kelp.v1.2.0","replaces":"kelp.v1.1.0"}`
	catalog += `{"schema":"olm.channel","package":"kelp","name":"stable","entries":[` + entries + `]}`
	for i, schema := range schemas {
		own := maps.Clone(files)
		delete(own, "metadata/dependencies.yaml")
		own[crd] = strings.Replace(own[crd], "{type: object}", schema, 1)
		const csv = "manifests/kelp.clusterserviceversion.yaml"
		own[csv] = strings.ReplaceAll(own[csv], "1.2.0", fmt.Sprintf("1.%d.0", i))
		ref := w.push(fmt.Sprintf("registry.example.com/kelp/kelp-bundle:v1.%d.0", i), fileImage(t, v1.Config{Labels: labels}, own))
		catalog += fmt.Sprintf(`{"schema":"olm.bundle","package":"kelp","name":"kelp.v1.%d.0","image":%q,"properties":[`+
			`{"type":"olm.package","value":{"packageName":"kelp","version":"1.%d.0"}},{"type":"olm.gvk","value":{"group":"kelp.example.com","kind":"Frond","version":"v1"}},`+
			`{"type":"olm.csv.metadata","value":{"installModes":[{"type":"AllNamespaces","supported":true}]}}]}`, i, ref, i)
	}
	img, err := registrytest.CatalogImage(fstest.MapFS{"kelp.json": {Data: []byte(catalog)}})
	if err != nil {
		t.Fatal(err)
	}
	w.push("registry.example.com/kelp/index:v1", img)
	isc := w.config("kelp.yaml", "  operators: [{catalog: 'registry.example.com/kelp/index:v1', full: true}]\n")
	w.must("plan", "-c", isc, "-o", w.path("plan.json"))
	w.must("mirror", "-c", isc, w.docker("/site/one"))
	disk := "file://" + w.path("disk")
	w.must("mirror", "-c", isc, disk)

	served := w.mirror.Host + "/site/one/kelp/index:v1"
	for _, from := range [][]string{{"-c", isc}, {"--plan", w.path("plan.json")}, {served, "--workspace", w.path("other")}, {disk, "--workspace", w.path("other")}} {
		w.source.ResetLog()
		o := w.gantry(append([]string{"check", "--crd-safety", "-o", "json"}, from...)...)
		var got struct {
			CRDSafety struct {
				Updates int
				Refused []struct {
					From, To    string
					Definitions []struct {
						Name       string
						Violations []struct{ Rule, Field, Version string }
					}
				}
				Unread []any
			}
		}
		if err := json.Unmarshal([]byte(o.stdout), &got); err != nil {
			t.Fatalf("%v: %v\n%s%s", from, err, o.stdout, o.stderr)
		}
		const want = "{2 [{kelp.v1.1.0 kelp.v1.2.0 [{fronds.kelp.example.com [{minLength a v1}]}]}] []}"
		if text := fmt.Sprint(got.CRDSafety); o.code != exitMismatch || text != want {
			t.Errorf("%v: ended with %d, got %s, want %s\n%s", from, o.code, text, want, o.stderr)
		}
		if n := len(w.source.Log()); (from[0] == served || from[0] == disk) && n > 0 {
			t.Errorf("the check of %s sent %d requests to the source", from[0], n)
		}
	}
	o := w.gantry("check", "--crd-safety", "-c", isc)
	for _, want := range []string{
		"kelp.v1.1.0 -> kelp.v1.2.0", "REFUSED by OLM v1", "fronds.kelp.example.com: v1: a: minLength was added: 2 (rule minLength)", "crdUpgradeSafety.enforcement",
		"2 updates compared, 1 refused",
	} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("%q is not in\n%s", want, o.stdout)
		}
	}
	w.refuse(exitUsage, []string{"an archive cannot be checked together with other catalogs"}, "check", "--crd-safety", disk, served)
	w.refuse(exitUsage, []string{"--verify-key", "no archive is read"}, "check", "--crd-safety", served, "--verify-key", "ops.pub")
	w.refuse(exitUsage, []string{w.path("none")}, "check", "--crd-safety", "file://"+w.path("none"))
	w.refuse(exitUsage, []string{"--crd-safety"}, "check", "--crd-safety", "--platform", w.docker("/site/one"))
}
