package gantry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/gantry-mirror/gantry"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// sourceOnce pushes the images of testdata/sample to a registry, which all examples read.
var sourceOnce = sync.OnceValues(func() (sample *registrytest.Sample, host string) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	sample, err := registrytest.NewSmallSample()
	check(err)
	host = strings.TrimPrefix(server.URL, "http://")
	check(sample.Push(context.Background(), registrytest.NewClient(host)))
	return sample, host
})

// A site is what an example works with: an empty mirror, and a folder with a configuration.
type site struct {
	dir    string
	server *httptest.Server
	mirror gantry.Place
	config gantry.Configuration
	env    *gantry.Env
}

func newSite() *site {
	s := &site{server: httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))}
	host := strings.TrimPrefix(s.server.URL, "http://")
	var err error
	s.dir, err = os.MkdirTemp("", "gantry-example-")
	check(err)
	sample, source := sourceOnce()
	check(sample.WriteConfig(s.dir, source, source, host))
	s.config, s.mirror = gantry.ConfigFile(s.path("imageset.yaml")), gantry.Registry(host+"/ocp")
	s.env = &gantry.Env{
		Getenv: func(name string) string {
			return map[string]string{"CONTAINERS_REGISTRIES_CONF": s.path("registries.conf"), "HOME": s.dir}[name]
		},
		Home: s.dir,
	}
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// export writes the content of the configuration to a disk.
func (s *site) export(folder string) *gantry.MirrorResult {
	result, err := gantry.Export(context.Background(), gantry.ExportOptions{
		Env: s.env, Content: gantry.Content{Config: s.config}, Workspace: s.path("connected"), Disk: s.path(folder),
	})
	check(err)
	return result
}

func (s *site) close() {
	s.env.Close()
	s.server.Close()
	check(os.RemoveAll(s.dir))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A plan lists everything that a configuration asks for.
func ExamplePlan() {
	s := newSite()
	defer s.close()
	result, err := gantry.Plan(context.Background(), gantry.PlanOptions{
		Env:       s.env,
		Content:   gantry.Content{Config: s.config},
		Workspace: s.path("workspace"),
		Compare:   s.mirror,
	})
	check(err)
	for _, c := range result.Plan.Catalogs {
		fmt.Println(c.Repository, c.Tag, len(c.Packages))
	}
	fmt.Println("to copy all:", result.ToCopy.Images == len(result.Plan.Images))
	// Output:
	// acme/operator-index v4.20 2
	// community/curated-index v4.20 2
	// to copy all: true
}

// A configuration may be a value that a program makes.
func ExampleConfigValue() {
	s := newSite()
	defer s.close()
	edge := imageset.Config{Mirror: imageset.Mirror{Operators: []imageset.Operator{{
		Catalog:  "registry.example.com/acme/operator-index:v4.20",
		Packages: []imageset.Package{{Name: "lantern"}},
	}}}}
	result, err := gantry.Plan(context.Background(), gantry.PlanOptions{
		Env:       s.env,
		Content:   gantry.Content{Config: gantry.ConfigValue("edge", edge)},
		Workspace: s.path("workspace"),
	})
	check(err)
	fmt.Println(result.Plan.Name, result.Plan.Catalogs[0].Packages[0].Name)
	// Output:
	// edge lantern
}

// Content is copied from the sources to a registry.
func ExampleMirror() {
	s := newSite()
	defer s.close()
	result, err := gantry.Mirror(context.Background(), gantry.MirrorOptions{
		Env:       s.env,
		Content:   gantry.Content{Config: s.config},
		Workspace: s.path("workspace"),
		To:        s.mirror,
	})
	check(err)
	fmt.Println("complete:", result.Report.Complete())
	fmt.Println("copied all:", result.Report.Copied == result.Report.Images)
	// Output:
	// complete: true
	// copied all: true
}

// A plan that was made before, and approved, is copied exactly.
func ExampleCopyPlan() {
	s := newSite()
	defer s.close()
	ctx := context.Background()
	made, err := gantry.Plan(ctx, gantry.PlanOptions{Env: s.env, Content: gantry.Content{Config: s.config}, Workspace: s.path("workspace")})
	check(err)
	file, err := os.Create(s.path("plan.json"))
	check(err)
	check(made.Plan.Write(file))
	check(file.Close())
	result, err := gantry.CopyPlan(ctx, gantry.CopyPlanOptions{
		Env:       s.env,
		Plan:      s.path("plan.json"),
		Workspace: s.path("workspace"),
		To:        gantry.Layout(s.path("layout")),
	})
	check(err)
	fmt.Println("the same plan:", result.PlanDigest == made.Digest)
	// Output:
	// the same plan: true
}

// Content is copied to a disk, and at the disconnected site from the disk to the registry there.
func ExampleImport() {
	s := newSite()
	defer s.close()
	ctx := context.Background()
	written, err := gantry.Export(ctx, gantry.ExportOptions{
		Env:       s.env,
		Content:   gantry.Content{Config: s.config},
		Workspace: s.path("connected"),
		Disk:      s.path("disk"),
		Omit:      gantry.OmitNothing(),
	})
	check(err)
	fmt.Println("written: sequence", written.Archive.Sequence)
	imported, err := gantry.Import(ctx, gantry.ImportOptions{
		Env:       s.env,
		From:      gantry.Disk(s.path("disk")),
		Workspace: s.path("disconnected"),
		To:        s.mirror,
	})
	check(err)
	fmt.Println("imported all:", imported.Report.Copied == written.Report.Images)
	// Output:
	// written: sequence 1
	// imported all: true
}

// Every byte of a disk is compared with its digest.
func ExampleVerify() {
	s := newSite()
	defer s.close()
	s.export("disk")
	result, err := gantry.Verify(context.Background(), gantry.VerifyOptions{Env: s.env, At: gantry.Disk(s.path("disk"))})
	check(err)
	fmt.Println("intact:", result.Archive.Intact())
	// Output:
	// intact: true
}

// A disk is a registry to pull from, without an extraction.
func ExampleServe() {
	s := newSite()
	defer s.close()
	s.export("disk")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ready := make(chan net.Addr, 1)
	go func() {
		defer cancel()
		response, err := http.Get("http://" + (<-ready).String() + "/v2/acme/operator-index/tags/list")
		check(err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		check(err)
		fmt.Println(strings.TrimSpace(string(body)))
	}()
	err := gantry.Serve(ctx, gantry.ServeOptions{
		Env: s.env, From: gantry.Disk(s.path("disk")), Listen: "127.0.0.1:0",
		Ready: func(address net.Addr) error { ready <- address; return nil },
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		panic(err)
	}
	// Output:
	// {"name":"acme/operator-index","tags":["v4.20"]}
}

// A mirror has an upgrade path for an operator that a cluster runs.
func ExampleCheck() {
	s := newSite()
	defer s.close()
	s.export("disk")
	installed := `{"kind": "List", "items": [{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": {"name": "tidewater.v2.1.0", "namespace": "ops"}, "spec": {"version": "2.1.0"}, "status": {"phase": "Succeeded"}}]}`
	check(os.WriteFile(s.path("csv.json"), []byte(installed), 0o600))
	result, err := gantry.Check(context.Background(), gantry.CheckOptions{
		Env: s.env, Installed: []string{s.path("csv.json")}, In: gantry.Disk(s.path("disk")), Workspace: s.path("workspace"),
	})
	check(err)
	for _, o := range result.Upgrades.Operators {
		fmt.Println(o.Bundle, o.Outcome)
	}
	// Output:
	// tidewater.v2.1.0 reaches
}

// What an image set no longer selects is deleted from the mirror.
func ExamplePrune() {
	s := newSite()
	defer s.close()
	ctx := context.Background()
	o := gantry.MirrorOptions{Env: s.env, Content: gantry.Content{Config: s.config}, Workspace: s.path("workspace"), To: s.mirror}
	_, err := gantry.Mirror(ctx, o)
	check(err)
	o.Config = gantry.ConfigValue("imageset", imageset.Config{Mirror: imageset.Mirror{
		Operators: []imageset.Operator{{Catalog: "registry.example.com/acme/operator-index:v4.20", Packages: []imageset.Package{{Name: "lantern"}}}},
	}})
	_, err = gantry.Mirror(ctx, o)
	check(err)
	prune := gantry.PruneOptions{Env: s.env, Mirror: s.mirror, Workspace: o.Workspace}
	listed, err := gantry.Unneeded(ctx, prune)
	check(err)
	pruned, err := gantry.Prune(ctx, prune)
	check(err)
	fmt.Println("deleted as listed:", !listed.Plan.Empty(), len(listed.Plan.Manifests) == len(pruned.Plan.Manifests))
	// Output:
	// deleted as listed: true true
}

// Options that contradict each other are an error with a hint.
func ExampleExportOptions() {
	_, err := gantry.Export(context.Background(), gantry.ExportOptions{
		Content: gantry.Content{Config: gantry.ConfigFile("imageset.yaml")}, Disk: "/disk", Redundancy: 120,
	})
	fmt.Println(err)
	// Output:
	// ExportOptions.Redundancy 120
}

// A catalog is read from its image.
func Example_openCatalog() {
	s := newSite()
	defer s.close()
	sources, err := workspace.OpenSources(s.env, s.path("workspace"))
	check(err)
	defer sources.Close()
	src, err := sources.Open(context.Background(), "registry.example.com/acme/operator-index:v4.20")
	check(err)
	fmt.Println(src.Name)
	// Output:
	// registry.example.com/acme/operator-index:v4.20
}
