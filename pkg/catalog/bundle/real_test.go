package bundle_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
)

// realCatalogs has packages of public catalogs, beside the project's checkout. opm rendered their
// bundles.
const realCatalogs = "../../../../shared/catalogs"

func TestReal(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of real bundles (make test-long)")
	}
	all := realBundles(t)
	t.Run("excerpts", func(t *testing.T) { excerptsAgain(t, all) })
	t.Run("manifests", func(t *testing.T) { manifestsAgain(t, all) })
	t.Run("order", func(t *testing.T) { sameOrder(t, all) })
}

func realBundles(t *testing.T) []*catalog.Bundle {
	t.Helper()
	if _, err := os.Stat(realCatalogs); err != nil {
		t.Skip("there are no real catalogs beside the checkout")
	}
	c, err := catalog.Read(t.Context(), os.DirFS(realCatalogs), catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all []*catalog.Bundle
	for _, p := range c.Packages {
		all = append(all, p.Bundles...)
	}
	return all
}

// The excerpt of a ClusterServiceVersion that is reconstructed from an excerpt is the same.
func excerptsAgain(t *testing.T, all []*catalog.Bundle) {
	t.Helper()
	checked := 0
	for _, b := range all {
		original := property(b, "olm.csv.metadata")
		if len(original) == 0 || b.Image == "" {
			continue
		}
		checked++
		var e map[string]json.RawMessage
		if err := json.Unmarshal(original[0], &e); err != nil {
			t.Fatal(err)
		}
		spec := map[string]json.RawMessage{}
		for name, value := range e {
			switch name {
			case "apiServiceDefinitions":
				name = "apiservicedefinitions"
			case "crdDescriptions":
				name = "customresourcedefinitions"
			case "annotations", "labels":
				continue
			}
			spec[name] = value
		}
		csv, err := json.Marshal(map[string]any{
			"kind":     "ClusterServiceVersion",
			"metadata": map[string]any{"annotations": e["annotations"], "labels": e["labels"]},
			"spec":     spec,
		})
		if err != nil {
			t.Fatal(err)
		}
		value, err := json.Marshal(map[string][]byte{"data": csv})
		if err != nil {
			t.Fatal(err)
		}
		m, err := bundle.Encode(&catalog.Bundle{Package: b.Package, Name: b.Name, Image: b.Image, Properties: []catalog.Property{
			{Type: "olm.package", Value: property(b, "olm.package")[0]},
			{Type: "olm.bundle.object", Value: value},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if m, err = bundle.Migrate(m); err != nil {
			t.Fatal(err)
		}
		made := decoded(t, m)
		if diff := gocmp.Diff(canonical(t, original[0]), canonical(t, property(made, "olm.csv.metadata")[0])); diff != "" {
			t.Errorf("%s: excerpt (-want +got):\n%s", b.Name, diff)
		}
		if len(made.Properties) != 2 {
			t.Errorf("%s: got %d properties", b.Name, len(made.Properties))
		}
	}
	if checked < 900 {
		t.Errorf("%d bundles have an excerpt, want more", checked)
	}
}

// A bundle whose manifests are in the catalog is read from the original folder, and gives the same
// object.
func manifestsAgain(t *testing.T, all []*catalog.Bundle) {
	t.Helper()
	checked := 0
	for _, b := range all {
		if len(property(b, "olm.bundle.object")) == 0 {
			continue
		}
		checked++
		made, err := bundle.Read(folder(t, b))
		if err != nil {
			t.Errorf("%s: %v", b.Name, err)
			continue
		}
		m, err := made.Meta(b.Image)
		if err != nil {
			t.Fatal(err)
		}
		got := decoded(t, m)
		if got.Name != b.Name || got.Package != b.Package || got.Image != b.Image || !got.Version.EQ(b.Version) {
			t.Errorf("got %s %s %s, want %s %s %s", got.Package, got.Name, got.Version, b.Package, b.Name, b.Version)
		}
		if diff := gocmp.Diff(described(t, b), described(t, got)); diff != "" {
			t.Errorf("%s: properties (-want +got):\n%s", b.Name, diff)
		}
		want, have := images(b), images(got)
		if b.Package == "eda-k8s-operator" {
			// The publisher removed the bundle's own image by hand.
			have = slices.DeleteFunc(have, func(r catalog.RelatedImage) bool { return r.Image == b.Image })
			want = slices.DeleteFunc(want, func(r catalog.RelatedImage) bool { return r.Image == b.Image })
		}
		if diff := gocmp.Diff(want, have); diff != "" {
			t.Errorf("%s: related images (-want +got):\n%s", b.Name, diff)
		}
	}
	if checked < 20 {
		t.Errorf("%d bundles contain their manifests, want more", checked)
	}
}

// folder returns the bundle from which a catalog object was rendered.
func folder(t *testing.T, b *catalog.Bundle) fstest.MapFS {
	t.Helper()
	texts := map[string]string{
		"metadata/annotations.yaml": "annotations:\n  operators.operatorframework.io.bundle.package.v1: " + b.Package + "\n",
	}
	type item struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
	var properties, dependencies []item
	for i, p := range b.Properties {
		switch p.Type {
		case "olm.bundle.object":
			var o struct{ Data []byte }
			if err := json.Unmarshal(p.Value, &o); err != nil {
				t.Fatal(err)
			}
			texts[fmt.Sprintf("manifests/%03d.yaml", i)] = string(o.Data)
		case "olm.package.required":
			value := strings.Replace(string(p.Value), "versionRange", "version", 1)
			dependencies = append(dependencies, item{"olm.package", json.RawMessage(value)})
		case "olm.package", "olm.gvk":
		case "olm.gvk.required":
			dependencies = append(dependencies, item{"olm.gvk", p.Value})
		default:
			properties = append(properties, item{p.Type, p.Value})
		}
	}
	for name, items := range map[string][]item{"properties": properties, "dependencies": dependencies} {
		text, err := json.Marshal(map[string]any{name: items})
		if err != nil {
			t.Fatal(err)
		}
		texts["metadata/"+name+".yaml"] = string(text)
	}
	return files(texts)
}

// property returns the values of a bundle's properties of a type.
func property(b *catalog.Bundle, propertyType string) [][]byte {
	var values [][]byte
	for _, p := range b.Properties {
		if p.Type == propertyType {
			values = append(values, p.Value)
		}
	}
	return values
}

// described returns the bundle's properties, sorted, with decoded manifests.
func described(t *testing.T, b *catalog.Bundle) []string {
	t.Helper()
	var all []string
	for _, p := range b.Properties {
		value := p.Value
		if p.Type == "olm.bundle.object" {
			var o struct{ Data []byte }
			if err := json.Unmarshal(p.Value, &o); err != nil {
				t.Fatal(err)
			}
			value = o.Data
		}
		all = append(all, p.Type+" "+canonical(t, value))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// images returns the bundle's related images, sorted. One has white space that the publisher
// removed by hand.
func images(b *catalog.Bundle) []catalog.RelatedImage {
	var all []catalog.RelatedImage
	for _, r := range b.RelatedImages {
		r.Image = strings.ReplaceAll(r.Image, " ", "")
		if r.Image != "" {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b catalog.RelatedImage) int {
		return cmp.Or(cmp.Compare(a.Image, b.Image), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func canonical(t *testing.T, text []byte) string {
	t.Helper()
	value := jsontext.Value(slices.Clone(text))
	if err := value.Canonicalize(); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return string(value)
}

// Packages that opm v1.73.0 rendered have the property order of Encode.
func sameOrder(t *testing.T, all []*catalog.Bundle) {
	t.Helper()
	checked := 0
	for _, b := range all {
		switch b.Package {
		case "cert-manager", "ack-rds-controller", "dbaas-operator", "3scale-community-operator", "service-binding-operator":
		default:
			continue
		}
		checked++
		m, err := bundle.Encode(b)
		if err != nil {
			t.Fatal(err)
		}
		want := jsontext.Value(slices.Clone(b.Meta.Raw))
		if err := want.Compact(); err != nil {
			t.Fatal(err)
		}
		text, err := jsontext.AppendFormat(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(string(text), string(m.Raw)); diff != "" {
			t.Errorf("%s in %s (-want +got):\n%s", b.Name, filepath.Base(b.Meta.File), diff)
		}
	}
	if checked < 150 {
		t.Errorf("%d bundles, want more", checked)
	}
}
