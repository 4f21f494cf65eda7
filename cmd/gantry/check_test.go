package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A checkReport is the JSON of gantry check.
type checkReport struct {
	Upgrades struct {
		Operators []struct {
			Bundle, Generation, Outcome string
			Routes                      []checkRoute
		}
	}
	Extensions []struct {
		Name, Error string
		Resolution  struct{ Catalog, Bundle string }
	}
}

type checkRoute struct {
	Channel, Head, Outcome string
	Hops                   []struct{ To, Edge string }
}

// check runs gantry check, checks the exit status, and returns the report as text and parsed.
func (w *fixture) check(code int, args ...string) (string, checkReport) {
	w.t.Helper()
	o := w.gantry(append([]string{"check", "-o", "json"}, args...)...)
	if o.code != code {
		w.t.Fatalf("gantry check %v ended with %d, want %d\n%s%s", args, o.code, code, o.stdout, o.stderr)
	}
	var r checkReport
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		w.t.Fatal(err)
	}
	return o.stdout, r
}

// route returns the upgrade path of the first operator as text.
func (r checkReport) route() string {
	o := r.Upgrades.Operators[0]
	text := o.Bundle + " " + o.Outcome
	for _, h := range o.Routes[0].Hops {
		text += " " + strings.TrimPrefix(h.To, "otter.") + "(" + h.Edge + ")"
	}
	return text
}

// TestCheck checks that the configuration, its plan in a workspace without the catalogs, and the
// mirror give the same result.
func TestCheck(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	ask := []string{"--installed", w.path("csv.json"), "--cluster-version", "4.18.2"}
	for _, tc := range []struct {
		name, isc string
		code      int
		route     string
	}{
		{"heads", "heads.yaml", exitMismatch, "otter.v1.0.0 stranded"},
		{"closed", "closed.yaml", exitOK, "otter.v1.0.0 reaches v1.1.1(replaces) v1.2.0(replaces) v1.3.0(replaces)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := *w
			w.t = t
			isc, lock := w.path(tc.isc), w.path(tc.name+".json")
			w.must("plan", "-c", isc, "-o", lock)
			w.must("mirror", "-c", isc, w.docker("/"+tc.name))

			first, got := w.check(tc.code, append([]string{"-c", isc, "--workspace", w.path("fresh-" + tc.name)}, ask...)...)
			if got.route() != tc.route {
				t.Errorf("of the configuration: %s, want %s", got.route(), tc.route)
			}
			planned, fromPlan := w.check(tc.code, append([]string{"--plan", lock, "--workspace", w.path("fresh-" + tc.name)}, ask...)...)
			if fromPlan.route() != tc.route {
				t.Errorf("of the plan: %s, want %s", fromPlan.route(), tc.route)
			}
			// The plan does not contain the installed list of the configuration. The cluster reports the same operator.
			if planned != first {
				t.Errorf("the plan gives another report than its configuration: %s", cmp.Diff(first, planned))
			}
			_, mirrored := w.check(tc.code, append([]string{w.mirror.Host + "/" + tc.name + "/" + zoo + ":v4.20"}, ask...)...)
			if mirrored.route() != tc.route {
				t.Errorf("of the mirror: %s, want %s", mirrored.route(), tc.route)
			}
			if diff := cmp.Diff(got.Upgrades.Operators[0].Routes, mirrored.Upgrades.Operators[0].Routes); diff != "" {
				t.Errorf("the mirror's routes differ from the configuration's: %s", diff)
			}
			// The disconnected side has no source.
			w.source.ResetLog()
			w.check(tc.code, append([]string{w.mirror.Host + "/" + tc.name + "/" + zoo + ":v4.20"}, ask...)...)
			if n := len(w.source.Log()); n > 0 {
				t.Errorf("the check of the mirror's catalog sent %d requests to the source", n)
			}
		})
	}
	// Here --installed does not change what is kept. Dependencies are kept with their upgrade paths.
	fresh := []string{"-c", w.path("heads.yaml"), "--dependencies", "--workspace", w.path("fresh")}
	_, r := w.check(exitOK, append(fresh, ask...)...)
	if want := "otter.v1.0.0 reaches v1.1.1(replaces) v1.2.0(replaces) v1.3.0(replaces)"; r.route() != want {
		t.Errorf("with dependencies: %s, want %s", r.route(), want)
	}
	for _, args := range [][]string{
		{"--plan", w.path("absent.json")}, {"--plan", w.path("heads.yaml")}, {"-c", w.path("absent.yaml")},
		{"-c", w.path("heads.yaml"), "--plan", w.path("heads.json")}, {"--plan", w.path("heads.json"), "--dependencies"},
	} {
		if o := w.gantry(append(append([]string{"check"}, args...), ask...)...); o.code != exitUsage || o.stdout != "" {
			t.Errorf("gantry check %v ended with %d:\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
}

// TestCheckClusterExtension resolves an extension with the ClusterCatalogs that were written, and with
// those that check derives from the configuration.
func TestCheckClusterExtension(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	isc := w.write("lake.yaml", strings.Replace(w.read("closed.yaml"), "  - catalog: registry", "  - targetCatalog: lake/animals\n    catalog: registry", 1))
	w.must("mirror", "-c", isc, w.docker("/lake"))
	files, err := filepath.Glob(w.path("workspace/cluster-resources/cc-*.yaml"))
	if err != nil || len(files) != 2 {
		t.Fatalf("ClusterCatalogs: %v, %v", files, err)
	}
	var emitted []string // flags
	names := map[string]string{}
	for _, file := range files {
		emitted = append(emitted, "--cluster-catalog", file)
		var c struct {
			Metadata struct{ Name string }
			Spec     struct {
				Source struct{ Image struct{ Ref string } }
			}
		}
		if err := yaml.Unmarshal([]byte(w.read(strings.TrimPrefix(file, w.dir+"/"))), &c); err != nil {
			t.Fatal(err)
		}
		ref, err := reference.Parse(c.Spec.Source.Image.Ref)
		if err != nil {
			t.Fatal(err)
		}
		names[strings.TrimPrefix(ref.Path, "lake/")] = c.Metadata.Name
	}
	animals := names["lake/animals"]
	if animals == "" || names[river] == "" || animals == names[river] {
		t.Fatalf("the ClusterCatalogs are called %v", names)
	}
	extension := w.read("extension.yaml")
	selecting := func(name string) string {
		return w.write("selecting.yaml", strings.TrimSuffix(extension, "}\n")+", selector: {matchLabels: {olm.operatorframework.io/metadata.name: "+name+"}}}\n")
	}
	mirrored := w.mirror.Host + "/lake/lake/animals:v4.20"
	for _, tc := range []struct {
		name, extension string
		code            int
		args            []string
	}{
		{"those it would emit", w.path("extension.yaml"), exitOK, []string{"-c", isc}},
		{"those that were emitted", w.path("extension.yaml"), exitOK, append([]string{"-c", isc}, emitted...)},
		{"the mirror's catalog, by the name it has there", w.path("extension.yaml"), exitOK, append([]string{mirrored}, emitted...)},
		{"selected by name", selecting(animals), exitOK, []string{"-c", isc}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := *w
			w.t = t
			_, r := w.check(tc.code, append(tc.args, "--cluster-extension", tc.extension)...)
			if len(r.Extensions) != 1 || r.Extensions[0].Resolution.Bundle != "otter.v1.3.0" || r.Extensions[0].Resolution.Catalog != animals {
				t.Errorf("resolved %+v, want otter.v1.3.0 of %s", r.Extensions, animals)
			}
		})
	}
	// The other catalog does not have the package.
	for _, args := range [][]string{{"-c", isc}, append([]string{"-c", isc}, emitted...)} {
		if _, r := w.check(exitMismatch, append(args, "--cluster-extension", selecting(names[river]))...); r.Extensions[0].Error == "" {
			t.Errorf("%v: resolved %+v", args, r.Extensions)
		}
	}
}
