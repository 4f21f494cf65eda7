package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
)

// shed is a catalog of three packages. tool requires an API that lib provides since 1.1. web has updates
// for OLM v1, which refuses 1.2.
const shed = `schema: olm.package
name: tool
defaultChannel: stable
---
{schema: olm.channel, package: tool, name: stable, entries: [{name: tool.v1.0.0}, {name: tool.v1.1.0, replaces: tool.v1.0.0}]}
---
{schema: olm.bundle, package: tool, name: tool.v1.0.0, image: "example.com/tool:1.0.0", properties: [{type: olm.package, value: {packageName: tool, version: 1.0.0}}]}
---
{schema: olm.bundle, package: tool, name: tool.v1.1.0, image: "example.com/tool:1.1.0", properties: [{type: olm.package, value: {packageName: tool, version: 1.1.0}}, {type: olm.gvk.required, value: {group: lib.example.com, version: v1, kind: Lib}}]}
---
{schema: olm.package, name: lib, defaultChannel: stable}
---
{schema: olm.channel, package: lib, name: stable, entries: [{name: lib.v1.0.0}, {name: lib.v1.1.0, replaces: lib.v1.0.0}]}
---
{schema: olm.bundle, package: lib, name: lib.v1.0.0, image: "example.com/lib:1.0.0", properties: [{type: olm.package, value: {packageName: lib, version: 1.0.0}}, {type: olm.gvk, value: {group: lib.example.com, version: v1, kind: Lib}}]}
---
{schema: olm.bundle, package: lib, name: lib.v1.1.0, image: "example.com/lib:1.1.0", properties: [{type: olm.package, value: {packageName: lib, version: 1.1.0}}, {type: olm.gvk, value: {group: lib.example.com, version: v1, kind: Lib}}]}
---
{schema: olm.package, name: web, defaultChannel: stable}
---
{schema: olm.channel, package: web, name: stable, entries: [{name: web.v1.0.0}, {name: web.v1.1.0, replaces: web.v1.0.0}]}
---
{schema: olm.bundle, package: web, name: web.v1.0.0, image: "example.com/web:1.0.0", properties: [{type: olm.package, value: {packageName: web, version: 1.0.0}}]}
---
{schema: olm.bundle, package: web, name: web.v1.1.0, image: "example.com/web:1.1.0", properties: [{type: olm.package, value: {packageName: web, version: 1.1.0}}]}
`

// csvOf returns a ClusterServiceVersion.
func csvOf(name, version string) string {
	pkg, _, _ := strings.Cut(name, ".")
	return fmt.Sprintf("---\n{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: %s, namespace: wild, labels: {operators.coreos.com/%s.wild: ''}}, spec: {version: %s}, status: {phase: Succeeded}}\n", name, pkg, version)
}

func subscriptionOf(pkg, source, csv string) string {
	return fmt.Sprintf("---\n{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: %s, namespace: wild}, spec: {name: %[1]s, channel: stable, source: %s, sourceNamespace: openshift-marketplace}, status: {installedCSV: %s}}\n", pkg, source, csv)
}

func extensionOf(name, pkg, version, bundle, runs string) string {
	return fmt.Sprintf("---\n{apiVersion: olm.operatorframework.io/v1, kind: ClusterExtension, metadata: {name: %s}, spec: {namespace: wild, serviceAccount: {name: s}, source: {sourceType: Catalog, catalog: {packageName: %s, version: %q}}}, status: {install: {bundle: {name: %s, version: %s}}}}\n", name, pkg, version, bundle, runs)
}

// folderFixture returns a fixture without registries, and with the catalog in the folder shed.
func folderFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{t: t, dir: t.TempDir()}
	w.mkdir("shed")
	w.write("shed/catalog.yaml", shed)
	return w
}

// selecting writes a configuration with these operators. SHED is replaced by the catalog.
func (w *fixture) selecting(operators string) string {
	w.t.Helper()
	operators = strings.ReplaceAll(operators, "SHED", "dir://"+w.path("shed"))
	return w.write("imageset.yaml", "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror: {operators: ["+operators+"]}\n")
}

// TestCheckOutcomes checks operators and expects the exit status that shows whether the user must act. Package upgrade
// tests the outcomes.
func TestCheckOutcomes(t *testing.T) {
	tool := csvOf("tool.v1.0.0", "1.0.0")
	const template = `, targetCatalogSourceTemplate: %s`
	for name, tc := range map[string]struct {
		operators, runs string
		code            int
		outcomes        string // by operator
		says            []string
	}{
		"dependency is left out": {
			"{catalog: SHED, packages: [{name: tool}]}", tool, exitMismatch, "lacking",
			[]string{"MISSING requirements of an update", "needs an operator that provides lib.example.com/v1 Lib", "dependencies: true", "requirements of 1 installed operator are missing"},
		},
		"dependency is added":  {"{catalog: SHED, dependencies: true, packages: [{name: tool}]}", tool, exitOK, "reaches", nil},
		"never of this mirror": {"{catalog: SHED, packages: [{name: tool}, {name: lib}]}", tool + csvOf("far.v1.0.0", "1.0.0"), exitOK, "elsewhere reaches", []string{"far.v1.0.0 (OLM classic, wild): not from this mirror"}},
		"bad range": {
			"{catalog: SHED, packages: [{name: web}]}", extensionOf("bad", "web", "1.0 - 1.1", "web.v1.0.0", "1.0.0") + extensionOf("good", "web", "", "web.v1.0.0", "1.0.0"),
			exitMismatch, "stranded reaches", []string{"is not a version range that clusters accept"},
		},
		"source of the template": {
			"{catalog: SHED, packages: [{name: web, minVersion: 1.0.0}]" + template + "}, {catalog: SHED, targetCatalog: other, packages: [{name: tool}]}",
			csvOf("web.v1.0.0", "1.0.0") + subscriptionOf("web", "ours", "web.v1.0.0"), exitOK, "reaches", nil,
		},
		"another source": {
			"{catalog: SHED, packages: [{name: tool}]" + template + "}",
			csvOf("web.v1.0.0", "1.0.0") + subscriptionOf("web", "theirs", "web.v1.0.0"), exitOK, "elsewhere",
			[]string{"openshift-marketplace/theirs, is not a CatalogSource of this mirror"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := folderFixture(t)
			if strings.Contains(tc.operators, "%s") {
				ours := w.write("ours.yaml", "apiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\nmetadata: {name: ours}\nspec: {sourceType: grpc}\n")
				tc.operators = fmt.Sprintf(tc.operators, ours)
			}
			args := []string{"--installed", w.write("runs.yaml", tc.runs), "-c", w.selecting(tc.operators)}
			o := w.gantry(append([]string{"check"}, args...)...)
			w.says(o.stdout+o.stderr, tc.says...)
			var outcomes []string
			for _, operator := range decoded[view.OperatorCheck](t, w.gantry(append([]string{"check", "-o", "json"}, args...)...).stdout).Upgrades.Operators {
				outcomes = append(outcomes, string(operator.Outcome))
			}
			if got := strings.Join(outcomes, " "); got != tc.outcomes || o.code != tc.code {
				t.Errorf("outcomes %s, want %s; ended with %d, want %d\n%s", got, tc.outcomes, o.code, tc.code, o.stdout)
			}
		})
	}
}

// TestCheckLaterVersion checks that the exit status shows whether the update of a cluster to a later minor
// version is blocked.
func TestCheckLaterVersion(t *testing.T) {
	t.Parallel()
	w := folderFixture(t)
	cluster := func(version, condition string) string {
		return fmt.Sprintf("---\n{apiVersion: config.openshift.io/v1, kind: ClusterVersion, metadata: {name: version}, spec: {clusterID: x}, status: {desired: {version: %s}, history: [{state: Completed, version: %[1]s}]%s}}\n", version, condition)
	}
	const held = ", conditions: [{type: Upgradeable, status: 'False', reason: AdminAckRequired, message: ack}]"
	w.mkdir("limited")
	w.write("limited/catalog.yaml", strings.Replace(shed, "{type: olm.package, value: {packageName: web, version: 1.1.0}}", "{type: olm.package, value: {packageName: web, version: 1.1.0}}, {type: olm.maxOpenShiftVersion, value: '4.20'}", 1))
	web := csvOf("web.v1.0.0", "1.0.0")
	for _, tc := range []struct {
		name, runs, catalog, to string
		code                    int
	}{
		{"a condition", web + cluster("4.20.3", held), "shed", "4.21.0", exitMismatch},
		{"a patch with a condition", web + cluster("4.20.3", held), "shed", "4.20.9", exitOK},
		{"no version", web + cluster("4.20.3", held), "shed", "", exitOK},
		{"no condition", web + cluster("4.20.3", ""), "shed", "4.21.0", exitOK},
		{"an operator", web + cluster("4.20.3", ""), "limited", "4.21.0", exitMismatch},
		{"an operator, up to its maximum", web + cluster("4.19.3", ""), "limited", "4.20.0", exitOK},
		{"an operator, unknown version", web, "limited", "4.21.0", exitOK},
	} {
		args := []string{"check", "--installed", w.write("runs.yaml", tc.runs), w.path(tc.catalog)}
		if tc.to != "" {
			args = append(args, "--cluster-version", tc.to)
		}
		o := w.gantry(args...)
		if o.code != tc.code || tc.code == exitMismatch && (!strings.Contains(o.stdout, "blocked: ") || !strings.Contains(o.stderr, "the update of clusters to OpenShift 4.21 is blocked")) {
			t.Errorf("%s: ended with %d, want %d\n%s%s", tc.name, o.code, tc.code, o.stdout, o.stderr)
		}
	}
	o := w.gantry("check", "--installed", w.write("runs.yaml", web), w.path("shed"), "--cluster-version", "5.3.1")
	if want := "note: the version of Kubernetes in OpenShift 5.3 is unknown"; !strings.Contains(o.stdout, want) {
		t.Errorf("%q is not in\n%s%s", want, o.stdout, o.stderr)
	}
}

// TestGraphInstalled checks that the graph marks the bundles as kept that mirror keeps with the
// same configuration and clusters.
func TestGraphInstalled(t *testing.T) {
	w := folderFixture(t)
	graph := []string{"graph", w.path("shed"), "web", "-c", w.selecting("{catalog: SHED, packages: [{name: web}]}"), "-o", "json"}
	installed := []string{"--installed", w.write("runs.yaml", csvOf("web.v1.0.0", "1.0.0"))}
	kept := func(args ...string) int { return strings.Count(w.must(args...).stdout, "kept") }
	if before, after := kept(graph...), kept(append(graph, installed...)...); after <= before {
		t.Errorf("with --installed, %d bundles are kept, and %d without", after, before)
	}
}
