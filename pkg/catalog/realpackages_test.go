package catalog_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// realText returns the file of a real package.
func realText(t testing.TB, pkg string) []byte {
	t.Helper()
	realPackages(t) // skips the test without real catalogs
	files, err := filepath.Glob(filepath.Join(realCatalogs, pkg, "catalog.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: got %v, %v", pkg, files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readText(t testing.TB, files ...string) *catalog.Catalog {
	t.Helper()
	fsys := fstest.MapFS{}
	for i, text := range files {
		fsys[fmt.Sprintf("some/folder-%d/x.txt", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	c, err := catalog.Read(t.Context(), fsys, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A publisher splits a package over 51 files, in folders with other names and in any order. The
// result is the same as from one file. The names of its bundles need not begin with the package
// name.
func TestSplitPackage(t *testing.T) {
	for pkg, bundle := range map[string]string{
		"gatekeeper-operator-product":     "gatekeeper-operator-product.v3.19.1",
		"openshift-cert-manager-operator": "cert-manager-operator.v1.18.0",
	} {
		text := string(realText(t, pkg))
		parts := strings.Split(strings.TrimPrefix(text, "---\n"), "\n---\n")
		slices.Reverse(parts)
		for i, part := range parts {
			if part = strings.TrimSpace(part); strings.HasPrefix(part, "---") {
				parts[i] = strings.TrimPrefix(part, "---")
			}
		}
		if pkg == "gatekeeper-operator-product" && len(parts) != 51 {
			t.Errorf("%s has %d objects, not 51", pkg, len(parts))
		}
		whole, split := readText(t, text), readText(t, parts...)
		if diff := gocmp.Diff(asText(t, whole), asText(t, split)); diff != "" {
			t.Errorf("%s in %d files differs: %s", pkg, len(parts), diff)
		}
		if split.Package(pkg).Bundle(bundle) == nil {
			t.Errorf("%s does not have %s", pkg, bundle)
		}
	}
}

// asText returns a catalog as it is written, channels in the order of their names.
func asText(t testing.TB, c *catalog.Catalog) string {
	t.Helper()
	files, err := catalog.Files(c)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintln(&b, f.Path)
		if _, err := f.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// Reading keeps what real packages contain, however unusual.
func TestOddBundles(t *testing.T) {
	bundle := func(pkg, name string) *catalog.Bundle {
		t.Helper()
		b := readText(t, string(realText(t, pkg))).Package(pkg).Bundle(name)
		if b == nil {
			t.Fatalf("%s does not have %s", pkg, name)
		}
		return b
	}
	types := func(b *catalog.Bundle) map[string]int {
		n := map[string]int{}
		for _, p := range b.Properties {
			n[p.Type]++
		}
		return n
	}
	// Versions: a pre-release, and build metadata.
	if v := bundle("habana-ai-operator", "habana-ai-operator.v1.22.2-32-1").Version; v.String() != "1.22.2-32-1" {
		t.Errorf("got %s", v)
	}
	plain := bundle("gatekeeper-operator-product", "gatekeeper-operator-product.v3.11.2").Version
	built := bundle("gatekeeper-operator-product", "gatekeeper-operator-product.v3.11.2-0.1718224960.p").Version
	if built.String() != "3.11.2+0.1718224960.p" || plain.Compare(built) != 0 {
		t.Errorf("got %s and %s", plain, built)
	}
	// Images: without a name, an empty reference, tag and digest, and a bundle without its own
	// image.
	empty, unnamed := 0, 0
	for _, b := range readText(t, string(realText(t, "3scale-community-operator"))).Packages[0].Bundles {
		for _, r := range b.RelatedImages {
			if r.Image == "" {
				empty++
			}
			if r.Name == "" {
				unnamed++
			}
		}
	}
	if empty != 6 || unnamed == 0 {
		t.Errorf("%d images are empty and %d have no name", empty, unnamed)
	}
	gpu := readText(t, string(realText(t, "gpu-operator-certified"))).Packages[0]
	if !slices.ContainsFunc(gpu.Bundles, func(b *catalog.Bundle) bool {
		return slices.ContainsFunc(b.RelatedImages, func(r catalog.RelatedImage) bool {
			name, _, ok := strings.Cut(r.Image, "@sha256:")
			return ok && strings.Contains(name[strings.LastIndex(name, "/"):], ":")
		})
	}) {
		t.Error("no image has both a tag and a digest")
	}
	eda := readText(t, string(realText(t, "eda-k8s-operator"))).Packages[0]
	without := 0
	for _, b := range eda.Bundles {
		if !slices.ContainsFunc(b.RelatedImages, func(r catalog.RelatedImage) bool { return r.Image == b.Image }) {
			without++
		}
		if n := types(b); (n["olm.bundle.object"] > 0) == (n["olm.csv.metadata"] > 0) {
			t.Errorf("%s has %v", b.Name, n)
		}
	}
	if without == 0 {
		t.Error("every bundle lists its own image")
	}
}

// Unknown properties are kept byte for byte, including numbers that float64 cannot represent.
func TestUnknownPropertiesOfRealPackages(t *testing.T) {
	for _, pkg := range []string{"3scale-community-operator", "dbaas-operator"} {
		text := bytes.Replace(realText(t, pkg), []byte(`"properties": [`), []byte(`"properties": [ {"type":"example.com/x","value":{"b":1.10,"a":9007199254740993,"c":"\u00e9<"}} ,`), 1)
		c := readText(t, string(text))
		out := asText(t, c)
		var all []*catalog.Meta
		for _, p := range c.Packages {
			all = append(all, p.Objects()...)
		}
		if len(all) < 3 {
			t.Fatalf("%s has %d objects", pkg, len(all))
		}
		for _, m := range all {
			if !bytes.Contains(text, m.Raw) || !strings.Contains(out, string(m.Raw)) {
				t.Errorf("%s %s differs from the file", m.Schema, m.Name)
			}
		}
		for _, want := range []string{`{"b":1.10,"a":9007199254740993,"c":"\u00e9<"}`, map[string]string{
			"dbaas-operator": `"versionRange": "\u003e=1.0.0"`, "3scale-community-operator": `"olm.maxOpenShiftVersion"`,
		}[pkg]} {
			if !strings.Contains(out, want) {
				t.Errorf("%s is written without %s", pkg, want)
			}
		}
	}
}

// A bundle of 1 MB, and a package of 61 MB of such bundles: reading needs little more memory than
// what is kept.
func TestLargeRealPackage(t *testing.T) {
	if testing.Short() {
		t.Skip("a package of 61 MB (make test-long)")
	}
	one := readText(t, string(realText(t, "stackgres"))).Packages[0]
	large := slices.MaxFunc(one.Bundles, func(a, b *catalog.Bundle) int { return cmp.Compare(len(a.Meta.Raw), len(b.Meta.Raw)) })
	if len(large.Meta.Raw) < 900_000 {
		t.Fatalf("its largest bundle has %d bytes", len(large.Meta.Raw))
	}
	var parts []io.Reader
	size := 0
	for size < 61<<20 {
		text := bytes.Replace(large.Meta.Raw, []byte(large.Name), fmt.Appendf(nil, "stackgres.v%d", size), 1)
		parts = append(parts, bytes.NewReader(text))
		size += len(text)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := catalog.NewReader(catalog.Options{})
	if err := r.File("stackgres/catalog.json", io.MultiReader(parts...)); err != nil {
		t.Fatal(err)
	}
	c, err := r.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := len(c.Package("stackgres").Bundles); got != len(parts) {
		t.Errorf("got %d bundles, not %d", got, len(parts))
	}
	if used := int(after.HeapAlloc) - int(before.HeapAlloc); used > size*5/4 {
		t.Errorf("%d bytes are used for %d", used, size)
	}
	runtime.KeepAlive(c)
}

// A real package with tabs in its YAML, truncated, or mixed with other text: the error has the line
// and the remedy.
func TestBrokenRealFiles(t *testing.T) {
	text := string(realText(t, "jumpstarter-operator"))
	json := string(realText(t, "dbaas-operator"))
	for name, tc := range map[string]struct{ text, want string }{
		"a tab":           {strings.Replace(text, "\n  replaces:", "\n\treplaces:", 1), "x.txt:9: invalid YAML: found a tab character that violates indentation; YAML is indented with spaces; fix the file"},
		"blanks and tabs": {strings.Replace(text, "\n  replaces:", "\n \treplaces:", 1), "x.txt:9: invalid YAML: "},
		"cut off":         {json[:len(json)/2], "invalid JSON: unexpected EOF"},
		"merge conflict":  {strings.Replace(text, "- name: jumpstarter-operator.v0.8.0\n", "<<<<<<< HEAD\n- name: jumpstarter-operator.v0.8.0\n=======\n", 1), "invalid YAML"},
		"a version as a number": {
			strings.Replace(text, "name: alpha\n", "name: 0.9\n", 1), `x.txt:6: "name" must be a string, not 0.9; put it in quotes`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := catalog.Read(t.Context(), fstest.MapFS{"x.txt": {Data: []byte(tc.text)}}, catalog.Options{})
			var found *catalog.Error
			if !errors.As(err, &found) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
