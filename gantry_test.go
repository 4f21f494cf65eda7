package gantry_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gantry-mirror/gantry"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
	"github.com/gantry-mirror/gantry/plan/admission"
)

// TestConfigurations makes the same plan from a file, a text and a value.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	s := newSite()
	defer s.close()
	file := s.path("imageset.yaml")
	text, err := os.ReadFile(file)
	fail.On(t, err)
	value, err := imageset.Parse(file, text)
	fail.On(t, err)
	digests := map[string]string{}
	for name, config := range map[string]gantry.Configuration{
		"file": gantry.ConfigFile(file), "text": gantry.ConfigText("imageset", text), "value": gantry.ConfigValue("imageset", imageset.Config{Mirror: value.Mirror}),
	} {
		result, err := gantry.Plan(t.Context(), gantry.PlanOptions{Env: s.env, Content: gantry.Content{Config: config}, Workspace: s.path(name)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		digests[name] = result.Digest.String()
	}
	want := map[string]string{"file": digests["file"], "text": digests["file"], "value": digests["file"]}
	fail.Diff(t, want, digests)
}

// TestValueAgain mirrors a configuration that is a value twice, verifies it and checks it.
func TestValueAgain(t *testing.T) {
	t.Parallel()
	s := newSite()
	defer s.close()
	config := gantry.ConfigValue("edge", imageset.Config{Mirror: imageset.Mirror{Operators: []imageset.Operator{{Catalog: "registry.example.com/acme/operator-index:v4.20", Packages: []imageset.Package{{Name: "tidewater"}}}}}})
	for i := range 2 {
		result, err := gantry.Mirror(t.Context(), gantry.MirrorOptions{Env: s.env, Content: gantry.Content{Config: config}, Workspace: s.path("workspace"), To: s.mirror, Blobs: gantry.EveryBlob})
		fail.On(t, err)
		if result.Plan.Name != "edge" || (result.Report.Copied == 0) != (i == 1) {
			t.Errorf("run %d of %s copied %d images", i, result.Plan.Name, result.Report.Copied)
		}
	}
	verified, err := gantry.Verify(t.Context(), gantry.VerifyOptions{Env: s.env, At: s.mirror, Config: config, Workspace: s.path("workspace"), Blobs: gantry.ReadBlobs})
	if err != nil || verified.Registry.Images == 0 {
		t.Errorf("verified %+v: %v", verified, err)
	}
	installed := `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {"name": "tidewater.v1.0.0", "namespace": "ops"}, "spec": {"version": "1.0.0"}, "status": {"phase": "Succeeded"}}`
	fail.On(t, os.WriteFile(s.path("csv.json"), []byte(installed), 0o600))
	checked, err := gantry.Check(t.Context(), gantry.CheckOptions{Env: s.env, Config: config, Installed: []string{s.path("csv.json")}, Workspace: s.path("fresh")})
	if err != nil || len(checked.Upgrades.Operators) != 1 || checked.Upgrades.Operators[0].Outcome != upgrade.ReachesHead {
		t.Errorf("checked %+v: %v", checked, err)
	}
}

// password is a keychain that has one password, for one host.
type password struct{ host, user, secret string }

func (p password) Credential(_ context.Context, host, _ string) (gantry.Credential, error) {
	if host != p.host {
		return gantry.Credential{}, nil
	}
	return keychain.Credential{Username: p.user, Password: p.secret}, nil
}

// counting is a transport that counts requests.
type counting struct{ requests atomic.Int64 }

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}

// TestInjected mirrors to a registry with a password that only the program knows, by its own transport.
func TestInjected(t *testing.T) {
	t.Parallel()
	s := newSite()
	defer s.close()
	var allowed atomic.Int64
	open := s.server.Config.Handler
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, secret, _ := r.BasicAuth(); user != "ci" || secret != "vault" {
			w.Header().Set("WWW-Authenticate", `Basic realm="mirror"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		allowed.Add(1)
		open.ServeHTTP(w, r)
	})
	o := gantry.MirrorOptions{Env: s.env, Content: gantry.Content{Config: s.config}, Workspace: s.path("workspace"), To: s.mirror}
	if _, err := gantry.Mirror(t.Context(), o); advice.KindOf(err) != advice.Unauthorized || allowed.Load() > 0 {
		t.Fatalf("without a password: %v", err)
	}
	s.env.Close()
	transport := &counting{}
	s.env = &gantry.Env{Getenv: s.env.Getenv, Home: s.dir, Registries: gantry.Registries{
		Credentials: password{s.server.Listener.Addr().String(), "ci", "vault"}, Transport: transport,
	}}
	o.Env = s.env
	result, err := gantry.Mirror(t.Context(), o)
	fail.On(t, err)
	var counted int64
	for _, h := range s.env.Hosts() {
		counted += h.Requests
	}
	if !result.Report.Complete() || allowed.Load() == 0 || transport.requests.Load() < counted {
		t.Errorf("complete: %t, %d requests with the password, %d of %d by the transport", result.Report.Complete(), allowed.Load(), transport.requests.Load(), counted)
	}
}

// TestErrors checks that errors name options that a program has.
func TestErrors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	content := gantry.Content{Config: gantry.ConfigFile(filepath.Join(t.TempDir(), "absent.yaml"))}
	env := &gantry.Env{Getenv: func(string) string { return "" }, Home: t.TempDir()}
	slow := &gantry.Env{Getenv: env.Getenv, Home: env.Home, Registries: gantry.Registries{Rate: -1}}
	some := gantry.Content{Config: gantry.ConfigText("edge", []byte("apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror: {additionalImages: [{name: 'images.example.net/a:1'}]}\n"))}
	for name, tc := range map[string]struct {
		run  func() error
		want string
	}{
		"no configuration": {func() error { return of(gantry.Mirror(ctx, gantry.MirrorOptions{To: gantry.Layout("l")})) }, "MirrorOptions.Config is not set; set it to a ConfigFile, ConfigText or ConfigValue"},
		"no place":         {func() error { return of(gantry.Mirror(ctx, gantry.MirrorOptions{Content: content})) }, "MirrorOptions.To is not set; set it to a registry or a layout; Export writes a disk"},
		"a disk": {func() error {
			return of(gantry.Mirror(ctx, gantry.MirrorOptions{Content: content, To: gantry.Disk("d")}))
		}, `MirrorOptions.To is "file://d"; set it to a registry or a layout; Export writes a disk`},
		"no folder": {func() error { return of(gantry.Export(ctx, gantry.ExportOptions{Content: content})) }, `ExportOptions.Disk is "file://"; set it to a folder`},
		"no disk":   {func() error { return of(gantry.Import(ctx, gantry.ImportOptions{From: gantry.Layout("l")})) }, `ImportOptions.From is "oci://l"; set it to a disk`},
		"no target": {func() error {
			return of(gantry.Import(ctx, gantry.ImportOptions{From: gantry.Disk("d"), To: gantry.Disk("e")}))
		}, `ImportOptions.To is "file://e"; set it to a registry or a layout`},
		"no plan":          {func() error { return of(gantry.CopyPlan(ctx, gantry.CopyPlanOptions{To: gantry.Layout("l")})) }, "CopyPlanOptions.Plan is not set; set it to a file"},
		"no request":       {func() error { return of(gantry.Repair(ctx, gantry.RepairOptions{Disk: "d"})) }, "RepairOptions.Request is not set; set it to a file"},
		"no registry":      {func() error { return of(gantry.Prune(ctx, gantry.PruneOptions{Mirror: gantry.Disk("d")})) }, `PruneOptions.Mirror is "file://d"; set it to a registry`},
		"to verify":        {func() error { return of(gantry.Verify(ctx, gantry.VerifyOptions{})) }, "VerifyOptions.At is not set; set it to a registry, a disk or a layout"},
		"to serve":         {func() error { return gantry.Serve(ctx, gantry.ServeOptions{}) }, "ServeOptions.From is not set; set it to a disk"},
		"a platform":       {func() error { return of(gantry.CheckPlatform(ctx, gantry.CheckPlatformOptions{})) }, "CheckPlatformOptions.Mirror is not set; set it to a registry"},
		"nothing to check": {func() error { return of(gantry.Check(ctx, gantry.CheckOptions{Env: env})) }, ""},
		"parity": {func() error {
			return of(gantry.Export(ctx, gantry.ExportOptions{Content: content, Disk: "d", Redundancy: 101}))
		}, "ExportOptions.Redundancy 101; give a number from 1 to 100"},
		"a sequence": {func() error {
			return of(gantry.Export(ctx, gantry.ExportOptions{Content: content, Disk: "d", Omit: gantry.OmitUntil(-1)}))
		}, "ExportOptions.Omit has the number -1 and the date 0001-01-01; use the number of an archive or a date"},
		"a window": {func() error {
			return of(gantry.Mirror(ctx, gantry.MirrorOptions{Content: content, To: gantry.Layout("l"), Windows: []gantry.Window{{}}}))
		}, "MirrorOptions.Windows: from 0s to 0s is not a part of a day"},
		"of a registry": {func() error {
			return of(gantry.Mirror(ctx, gantry.MirrorOptions{Content: content, To: gantry.Layout("l"), Clusters: []string{"kubernetes"}}))
		}, "MirrorOptions.Clusters and mirroring.Options.ICSP are for docker:// destinations"},
		"of Env": {func() error {
			return of(gantry.Plan(ctx, gantry.PlanOptions{Env: slow, Content: some, Workspace: t.TempDir()}))
		}, "Env.Rate -1; give a number of bytes per second, or 0 for no limit"},
		"revisions": {func() error {
			return of(gantry.Unneeded(ctx, gantry.PruneOptions{Mirror: gantry.Registry("r"), KeepLast: -1}))
		}, "PruneOptions.KeepLast -1; use a number above 0"},
		"certificates": {func() error { return gantry.Serve(ctx, gantry.ServeOptions{From: gantry.Disk("d"), TLSCert: "c"}) }, ""},
	} {
		err := tc.run()
		if got := advice.Text(err); advice.KindOf(err) != advice.Input || tc.want != "" && got != tc.want || strings.Contains(strings.ReplaceAll(got, "."+"Options.", ""), " Options.") {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// of returns the error of a verb.
func of[T any](_ *T, err error) error { return err }

// TestErrorsKeepTypes finds the error of a verb behind the words of this package.
func TestErrorsKeepTypes(t *testing.T) {
	t.Parallel()
	s := newSite()
	defer s.close()
	absent := gantry.ConfigValue("edge", imageset.Config{Mirror: imageset.Mirror{AdditionalImages: []imageset.Image{{Name: "images.example.net/tools/absent:1"}, {Name: "images.example.net/tools/netcheck:1.4"}}}})
	_, err := gantry.Mirror(t.Context(), gantry.MirrorOptions{Env: s.env, Content: gantry.Content{Config: absent}, Workspace: s.path("workspace"), To: s.mirror})
	var partial *admission.PartialError
	if !errors.As(err, &partial) || advice.KindOf(err) != advice.Partial {
		t.Errorf("got %v", err)
	}
}

// TestExamplesAreShort: each verb takes at most 30 lines.
func TestExamplesAreShort(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "example_test.go", nil, 0)
	fail.On(t, err)
	examples := 0
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Example") {
			examples++
			if lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; lines > 30 {
				t.Errorf("%s has %d lines", fn.Name.Name, lines)
			}
		}
	}
	if examples < 8 {
		t.Errorf("%d examples", examples)
	}
}
