package gantry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// The rules are from docs/design.md.

const module = "github.com/gantry-mirror/gantry"

// moduleLimit is the number of linked modules at which the check fails.
const moduleLimit = 60

// A rule lists imports that packages must not have. Paths in this module are written as "./plan". A
// pattern that ends in "/..." also matches all packages below.
type rule struct {
	from  string
	never []string
	// except lists packages that match from but are exempt from the rule.
	except []string
	// direct limits the rule to the packages' own imports. Otherwise it also applies to indirect
	// imports.
	direct bool
}

// floors are the folders of the module, from the top to the bottom. A package imports only packages of its
// own folder and of lower floors.
var floors = [][]string{
	{"cmd", "."},
	{"mirror", "pkg/authoring", "pkg/cluster", "pkg/config", "pkg/registry"},
	{"archive", "plan"},
	{"pkg/site"},
	{"pkg/archive", "pkg/mirror", "pkg/page"},
	{"pkg/env", "pkg/httpserver", "pkg/plan", "pkg/provision", "pkg/sqlite", "pkg/state"},
	{"pkg/catalog", "pkg/delta", "pkg/platform", "pkg/remote", "pkg/signature"},
	{"pkg/chart", "pkg/image", "pkg/imageset", "pkg/registrytest", "pkg/resources"},
	{"pkg/diagram", "pkg/file", "pkg/reference", "pkg/release"},
	{"pkg/advice", "pkg/elements", "pkg/fail", "pkg/metrics", "pkg/progress", "pkg/window"},
}

// floorLimit is the maximum number of floors.
const floorLimit = 10

// verbs are the folders whose packages are verbs. They know no flags and no terminals.
var verbs = []string{"./mirror/...", "./plan/...", "./archive/...", "./pkg/authoring/...", "./pkg/cluster/...", "./pkg/config/...", "./pkg/registry/..."}

var rules = []rule{
	// The root package is what programs import. It does not depend on flags or terminals, and no
	// package below imports it. Package view only renders.
	{from: ".", never: []string{"./cmd/...", "github.com/spf13/...", "testing"}},
	{from: ".", never: []string{"golang.org/x/term/..."}, direct: true},
	{from: "./cmd/gantry/internal/view/...", never: []string{"github.com/spf13/...", "net/http/...", "./pkg/remote/...", "./pkg/remote/keychain/..."}, direct: true},
	// The command turns flags into options and prints results. What it does is in rooms.
	{from: "./cmd/gantry", never: []string{
		"net/...",
		"./pkg/site/airgap/...", "./pkg/state/...", "./pkg/image/layout/...", "./pkg/image/...", "./pkg/httpserver/catalogserver/...", "./pkg/httpserver/registryserver/...",
		"./pkg/reference/...", "./pkg/remote/registries/...",
		"./pkg/catalog/graph/...", "./pkg/catalog/filter/...", "./pkg/catalog/validate/...", "./pkg/catalog/bundle/...", "./pkg/catalog/install/...", "./pkg/catalog/rbac/...",
		"./pkg/platform/update/...", "./pkg/platform/payload/...", "./pkg/platform/path/...", "./pkg/signature/cosign", "./pkg/signature/gpg", "./pkg/signature/policy", "./pkg/signature/registriesd", "./pkg/signature/stored", "./pkg/chart/...", "./pkg/plan/build/...",
	}, direct: true},
	// Command lines are translated without a registry or a workspace.
	{from: "./cmd/gantry/internal/ocmirror/...", never: []string{".", "./pkg/remote/...", "./pkg/state/...", "os"}, direct: true},
	// Package airgap depends neither on a registry nor on the configuration.
	{from: "./pkg/site/airgap/...", never: []string{"./pkg/remote/...", "./pkg/imageset/...", "golang.org/x/term/..."}, direct: true},
	// Planning does not access the network or the disk directly.
	{from: "./pkg/plan/...", never: []string{"net/http/...", "os/exec", "./pkg/remote/...", "./pkg/remote/keychain/...", "./pkg/image/layout/...", "./pkg/state/..."}},
	{from: "./pkg/plan/...", never: []string{"os", "path/filepath"}, direct: true},
	// Programs that only read plans do not link the code that makes them.
	{from: "./pkg/plan", never: []string{"./pkg/plan/build/...", "./pkg/catalog/...", "./pkg/imageset/..."}},
	{from: "./pkg/mirror/...", never: []string{"./pkg/plan/build/..."}},
	// Copying does not depend on catalogs, and archives do not depend on the kind of their content.
	{from: "./pkg/mirror/...", never: []string{"./pkg/catalog/...", "./pkg/imageset/...", "archive/tar"}, direct: true},
	{from: "./pkg/archive/...", never: []string{"./pkg/catalog/...", "./pkg/imageset/...", "./pkg/remote/..."}},
	{from: "./pkg/catalog/...", never: []string{"net", "net/http/...", "os/exec", "./pkg/remote/...", "modernc.org/sqlite/..."}},
	// Programs that decide what is mirrored get no credentials.
	{from: "./plan/gates/gate", never: []string{"net/http/...", "./pkg/remote/keychain/...", "./pkg/remote/...", "./pkg/image/..."}},
	{from: "./pkg/site/workspace", never: []string{"./pkg/site/airgap", "./pkg/resources/..."}, direct: true},
	// What roles permit is decided without knowing what they are for.
	{from: "./pkg/registry/doctor/...", never: []string{"./plan/...", "./mirror/...", "./pkg/catalog/...", "./pkg/state/..."}},
	{from: "./pkg/provision/...", never: []string{"./plan/...", "./mirror/...", "./pkg/catalog/...", "./pkg/state/..."}},
	{from: "./pkg/catalog/rbac/...", never: []string{"net", "net/http/...", "os/exec", "./pkg/catalog/...", "./pkg/remote/..."}},
	{from: "./pkg/catalog/rbac/...", never: []string{"os"}, direct: true},
	// Update graphs are values. Finding paths in them needs no other data.
	{from: "./pkg/platform/picture/...", never: []string{"net/...", "os/exec", "./pkg/platform/payload/...", "./pkg/platform/update/..."}},
	{from: "./pkg/platform/path/...", never: []string{"net/...", "os/exec", "./pkg/platform/payload/...", "./pkg/platform/update/..."}},
	// The packages for platform releases do not depend on how their data is transferred.
	{from: "./pkg/platform/...", except: []string{"./pkg/platform/releasetest"}, never: []string{"net/http/...", "./pkg/remote/...", "./pkg/remote/keychain/...", "./pkg/catalog/..."}},
	// Charts are read without a network, and rendered by another program.
	{from: "./pkg/chart/...", never: []string{"net/http/...", "./pkg/remote/...", "./pkg/remote/keychain/...", "./pkg/catalog/...", "./pkg/release/..."}},
	{from: "./pkg/chart", never: []string{"os/exec"}},
	// Files are described without reading them.
	{from: "./pkg/reference/fileartifact/...", never: []string{"net/http/...", "./pkg/remote/...", "./pkg/remote/keychain/...", "./pkg/image/layout/..."}},
	// The records of a mirror are a format; package site connects it to a registry.
	{from: "./pkg/state/setrecord", never: []string{"net/http/...", "./pkg/remote/...", "./pkg/image/layout/..."}, direct: true},
	// What installers and runtimes read is made from values.
	{from: "./pkg/resources/shardjob", never: []string{"os", "net/http/...", "./pkg/remote/...", "./pkg/state/..."}, direct: true},
	{from: "./pkg/resources/install", never: []string{"os", "net/http/...", "./pkg/remote/...", "./pkg/state/..."}, direct: true},
	{from: "./pkg/resources/hosts", never: []string{"os", "net/http/...", "./pkg/remote/...", "./pkg/state/..."}, direct: true},
	// The protocol of leases does not depend on how a registry is reached.
	{from: "./pkg/window", never: []string{"net/http/..."}},
	{from: "./pkg/metrics", never: []string{"net/http/..."}},
	{from: "./pkg/state/audit", never: []string{"net/http/...", "./pkg/remote/..."}},
	{from: "./pkg/state/shard", never: []string{"net/http/...", "./pkg/remote/...", "./plan/..."}},
	{from: "./pkg/state/lease", never: []string{"net/http/...", "./pkg/remote/..."}},
	// Archives of oc mirror are files.
	{from: "./archive/ocarchive", never: []string{"net/http/...", "./archive", "./plan/..."}},
	// Parity is computed from any files.
	{from: "./pkg/archive/parity", never: []string{"net/http/...", "./archive"}},
	// Compressors know nothing of what they compress.
	{from: "./pkg/delta/recompress/...", never: []string{"net/http/...", "./archive/...", "./pkg/delta", "./pkg/delta/packed"}},
	{from: "./pkg/delta/packed", never: []string{"net/http/...", "./archive/...", "./pkg/delta"}},
	// Packages for images and drawings serve both catalogs and releases.
	{from: "./pkg/image/...", never: []string{"net/http/...", "./pkg/remote/...", "./pkg/catalog/...", "./pkg/release/..."}},
	{from: "./pkg/delta", never: []string{"net/http/...", "./archive", "./plan/...", "./pkg/remote/..."}},
	{from: "./pkg/diagram/...", never: []string{"./pkg/catalog/...", "./pkg/release/..."}},
	// The program does not link these.
	{from: "./cmd/gantry", never: []string{
		"./pkg/registrytest/...", "./mirror/mirrortest", "./pkg/platform/releasetest/...", "./pkg/chart/charttest/...", "testing", "net/http/httptest",
		"github.com/google/go-containerregistry/pkg/registry", "github.com/google/go-containerregistry/pkg/authn",
		"helm.sh/helm/...",
		"github.com/containers/image/...", "go.podman.io/image/...",
		"github.com/distribution/distribution/...", "github.com/docker/docker/...", "github.com/docker/cli/...", "github.com/docker/distribution/...",
		"k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/...",
		// Their initialization delays every start. Go-git's gitignore would bring encoding/gob.
		"encoding/gob", "expvar", "net/http/pprof", "github.com/go-git/...", "github.com/distribution/reference",
	}},
}

// imported is a package, as go list -json prints it.
type imported struct {
	ImportPath string
	Imports    []string
	Module     *struct{ Path string }
}

// An importGraph maps import paths to packages.
type importGraph map[string]imported

func TestImports(t *testing.T) {
	t.Parallel()
	g := list(t, "./...")
	all := slices.Clone(rules)
	for _, verb := range verbs {
		all = append(all, rule{from: verb, except: []string{"./mirror/mirrortest"}, never: []string{"github.com/spf13/...", "testing"}})
	}
	for _, problem := range g.check(all) {
		t.Error(problem)
	}
}

// TestFloors checks that imports run down only, from folder to folder.
func TestFloors(t *testing.T) {
	t.Parallel()
	if len(floors) > floorLimit {
		t.Errorf("there are %d floors, want at most %d", len(floors), floorLimit)
	}
	for _, problem := range list(t, "./...").checkFloors(floors) {
		t.Error(problem)
	}
}

// checkFloors returns a line for each import that does not run down, and for each package on no floor.
func (g importGraph) checkFloors(floors [][]string) []string {
	var problems []string
	place := func(path string) (folder string, floor int) {
		for i, folders := range floors {
			for _, name := range folders {
				if name == "." && path == module || name != "." && matches("./"+name+"/...", path) {
					return name, i
				}
			}
		}
		return "", -1
	}
	for _, path := range slices.Sorted(maps.Keys(g)) {
		if !matches("./...", path) {
			continue
		}
		from, above := place(path)
		if from == "" {
			problems = append(problems, path+" is on no floor")
		}
		for _, imported := range g[path].Imports {
			if to, below := place(imported); to != "" && to != from && below <= above {
				problems = append(problems, fmt.Sprintf("%s must not import %s: %s is not below %s", path, imported, to, from))
			}
		}
	}
	return problems
}

func TestLinkedModules(t *testing.T) {
	t.Parallel()
	modules := list(t, "./cmd/gantry").modules()
	if n := len(modules) - 1; n >= moduleLimit { // without its own module
		t.Errorf("the program links %d modules, want fewer than %d:\n%s", n, moduleLimit, strings.Join(modules, "\n"))
	}
	if !slices.Contains(modules, module) {
		t.Errorf("the program's own module is not among those it links: %v", modules)
	}
}

// list reads packages and all their imports, without tests.
func list(t *testing.T, pattern string) importGraph {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,Module", pattern)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	g := importGraph{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p imported
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return g
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		g[p.ImportPath] = p
	}
}

// modules lists the modules of a graph, sorted.
func (g importGraph) modules() []string {
	var all []string
	for _, p := range g {
		if p.Module != nil {
			all = append(all, p.Module.Path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// check returns a line for each broken rule, with the shortest chain of imports that breaks it, and
// for each rule that matches no package.
func (g importGraph) check(rules []rule) []string {
	var problems []string
	for _, r := range rules {
		var from []string
		for path := range g {
			excepted := slices.ContainsFunc(r.except, func(e string) bool { return matches(e, path) })
			if matches(r.from, path) && !excepted {
				from = append(from, path)
			}
		}
		if len(from) == 0 {
			problems = append(problems, fmt.Sprintf("a rule is about %s, which is not there", r.from))
		}
		slices.Sort(from)
		for _, path := range from {
			for _, never := range r.never {
				if chain := g.chain(path, never, r.direct); chain != nil {
					problems = append(problems, fmt.Sprintf("%s must not import %s: %s", r.from, never, strings.Join(chain, " -> ")))
				}
			}
		}
	}
	return problems
}

// chain finds the shortest chain of imports from a package to one that matches never.
func (g importGraph) chain(from, never string, direct bool) []string {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at != from && direct {
			continue
		}
		for _, next := range g[at].Imports {
			if _, seen := before[next]; seen {
				continue
			}
			before[next] = at
			if !matches(never, next) {
				queue = append(queue, next)
				continue
			}
			chain := []string{next}
			for p := at; p != ""; p = before[p] {
				chain = append(chain, p)
			}
			slices.Reverse(chain)
			return chain
		}
	}
	return nil
}

// matches reports whether an import path matches a rule's pattern.
func matches(pattern, path string) bool {
	if pattern == "." {
		return path == module
	}
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		pattern = module + "/" + rest
	}
	base, below := strings.CutSuffix(pattern, "/...")
	return path == base || below && strings.HasPrefix(path, base+"/")
}

func TestImportRulesCanBreak(t *testing.T) {
	t.Parallel()
	g := importGraph{}
	for from, to := range map[string][]string{
		"pkg/a":      {"fmt", module + "/pkg/b"},
		"pkg/b":      {module + "/plan"},
		"plan":       {"net/http", module + "/pkg/c"},
		"pkg/c":      {"os"},
		"cmd/gantry": {module + "/plan", "helm.sh/helm/v3/pkg/chart"},
	} {
		g[module+"/"+from] = imported{ImportPath: module + "/" + from, Imports: to}
	}
	for _, tc := range []struct {
		name string
		rule rule
		want []string
	}{
		{"upward", rule{from: "./pkg/...", never: []string{"./plan/..."}}, []string{
			"./pkg/... must not import ./plan/...: ~/pkg/a -> ~/pkg/b -> ~/plan",
			"./pkg/... must not import ./plan/...: ~/pkg/b -> ~/plan",
		}},
		{"upward, directly", rule{from: "./pkg/...", never: []string{"./plan"}, direct: true}, []string{
			"./pkg/... must not import ./plan: ~/pkg/b -> ~/plan",
		}},
		{"network", rule{from: "./plan", never: []string{"net/..."}}, []string{"./plan must not import net/...: ~/plan -> net/http"}},
		{"linked through others", rule{from: "./cmd/gantry", never: []string{"os", "helm.sh/helm/v3/..."}}, []string{
			"./cmd/gantry must not import os: ~/cmd/gantry -> ~/plan -> ~/pkg/c -> os",
			"./cmd/gantry must not import helm.sh/helm/v3/...: ~/cmd/gantry -> helm.sh/helm/v3/pkg/chart",
		}},
		{"imported by others only", rule{from: "./plan", never: []string{"os"}, direct: true}, nil},
		{"excepted", rule{from: "./pkg/...", except: []string{"./pkg/b"}, never: []string{"./plan"}, direct: true}, nil},
		{"a name that begins alike", rule{from: "./plan", never: []string{"net/ht/...", "./pkg/cc"}}, nil},
		{"about nothing", rule{from: "./planet", never: []string{"os"}}, []string{"a rule is about ./planet, which is not there"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range g.check([]rule{tc.rule}) {
				got = append(got, strings.ReplaceAll(p, module, "~"))
			}
			fail.Diff(t, tc.want, got)
		})
	}
}

func TestModulesAreCountedOnce(t *testing.T) {
	t.Parallel()
	m := func(path string) *struct{ Path string } { return &struct{ Path string }{path} }
	g := importGraph{"a/x": {Module: m("a")}, "a/y": {Module: m("a")}, "b": {Module: m("b")}, "fmt": {}}
	fail.Diff(t, []string{"a", "b"}, g.modules())
}

func TestFloorsCanBreak(t *testing.T) {
	t.Parallel()
	g := importGraph{}
	for from, to := range map[string][]string{
		"/cmd/x": {module + "/a/one", module}, "": {module + "/a/one"}, "/a/one": {module + "/a/two", module + "/b", "fmt"}, "/a/two": nil,
		"/b": {module + "/c"}, "/c": {module + "/a/two"}, "/d": nil, "fmt": {module + "/d"},
	} {
		if strings.HasPrefix(from, "/") || from == "" {
			from = module + from
		}
		g[from] = imported{ImportPath: from, Imports: to}
	}
	want := []string{
		"~/c must not import ~/a/two: a is not below c",
		"~/cmd/x must not import ~: . is not below cmd",
		"~/d is on no floor",
	}
	var got []string
	for _, p := range g.checkFloors([][]string{{"cmd", "."}, {"a"}, {"b"}, {"c"}}) {
		got = append(got, strings.ReplaceAll(p, module, "~"))
	}
	fail.Diff(t, want, got)
}
