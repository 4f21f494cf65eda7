package gantry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/gantry-mirror/gantry"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/workspace"
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
	mirror *httptest.Server
	env    *gantry.Env
}

func newSite() *site {
	s := &site{mirror: httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))}
	var err error
	s.dir, err = os.MkdirTemp("", "gantry-example-")
	check(err)
	sample, source := sourceOnce()
	check(sample.WriteConfig(s.dir, source, source, strings.TrimPrefix(s.mirror.URL, "http://")))
	s.env = &gantry.Env{
		Getenv: func(name string) string {
			return map[string]string{"CONTAINERS_REGISTRIES_CONF": s.path("registries.conf"), "HOME": s.dir}[name]
		},
		Home: s.dir,
	}
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// registry is the mirror as a destination.
func (s *site) registry() string {
	return "docker://" + strings.TrimPrefix(s.mirror.URL, "http://") + "/ocp"
}

func (s *site) close() {
	s.env.Close()
	s.mirror.Close()
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
		Selection: gantry.Selection{Config: s.path("imageset.yaml")},
		Workspace: s.path("workspace"),
	})
	check(err)
	for _, c := range result.Plan.Catalogs {
		fmt.Println(c.Repository, c.Tag, len(c.Packages))
	}
	// Output:
	// acme/operator-index v4.20 2
	// community/curated-index v4.20 2
}

// Content is copied from the sources to a registry.
func ExampleMirror() {
	s := newSite()
	defer s.close()
	result, err := gantry.Mirror(context.Background(), gantry.MirrorOptions{
		Env:         s.env,
		Selection:   gantry.Selection{Config: s.path("imageset.yaml")},
		Workspace:   s.path("workspace"),
		Destination: s.registry(),
	})
	check(err)
	fmt.Println("complete:", result.Report.Complete())
	fmt.Println("copied all:", result.Report.Copied == result.Report.Images)
	// Output:
	// complete: true
	// copied all: true
}

// Content is copied to a disk, and at the disconnected site from the disk to the registry there.
func ExampleMirror_disk() {
	s := newSite()
	defer s.close()
	disk := "file://" + s.path("disk")
	written, err := gantry.Mirror(context.Background(), gantry.MirrorOptions{
		Env:         s.env,
		Selection:   gantry.Selection{Config: s.path("imageset.yaml")},
		Workspace:   s.path("connected"),
		Destination: disk,
	})
	check(err)
	fmt.Println("written: sequence", written.Archive.Sequence)
	carried := gantry.MirrorOptions{Env: s.env, Workspace: s.path("disconnected"), Destination: s.registry()}
	carried.From = []string{disk}
	imported, err := gantry.Mirror(context.Background(), carried)
	check(err)
	fmt.Println("imported all:", imported.Report.Copied == written.Report.Images)
	// Output:
	// written: sequence 1
	// imported all: true
}

// A dry run says what would be copied.
func ExampleMirror_dryRun() {
	s := newSite()
	defer s.close()
	result, err := gantry.Mirror(context.Background(), gantry.MirrorOptions{
		Env:         s.env,
		Selection:   gantry.Selection{Config: s.path("imageset.yaml")},
		Workspace:   s.path("workspace"),
		Destination: "oci://" + s.path("layout"),
		DryRun:      true,
	})
	check(err)
	fmt.Println("would copy all:", result.ToCopy.Images == len(result.Plan.Images))
	// Output:
	// would copy all: true
}

// Options that contradict each other are an error with a hint.
func ExampleMirrorOptions_Check() {
	o := gantry.MirrorOptions{Destination: "oci://layout"}
	o.Plan, o.Since.Sequence = "plan.json", 2
	fmt.Println(o.Check())
	// Output:
	// Options.Since is for file:// destinations
}

// Every byte of an archive is compared with its digest.
func ExampleVerify() {
	s := newSite()
	defer s.close()
	disk := "file://" + s.path("disk")
	_, err := gantry.Mirror(context.Background(), gantry.MirrorOptions{
		Env:         s.env,
		Selection:   gantry.Selection{Config: s.path("imageset.yaml")},
		Workspace:   s.path("workspace"),
		Destination: disk,
	})
	check(err)
	result, err := gantry.Verify(context.Background(), gantry.VerifyOptions{Env: s.env, Locations: []string{disk}})
	check(err)
	fmt.Println("intact:", result.Archive.Intact())
	// Output:
	// intact: true
}

// An archive is a registry to pull from, without an extraction.
func ExampleServe() {
	s := newSite()
	defer s.close()
	disk := "file://" + s.path("disk")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := gantry.Mirror(ctx, gantry.MirrorOptions{
		Env:         s.env,
		Selection:   gantry.Selection{Config: s.path("imageset.yaml")},
		Workspace:   s.path("workspace"),
		Destination: disk,
	})
	check(err)
	err = gantry.Serve(ctx, gantry.ServeOptions{
		Env:     s.env,
		Archive: []string{disk},
		Listen:  "127.0.0.1:0",
		Ready: func(serving gantry.Serving) error {
			go func() {
				defer cancel()
				response, err := http.Get("http://" + serving.Address.String() + "/v2/acme/operator-index/tags/list")
				check(err)
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				check(err)
				fmt.Println(strings.TrimSpace(string(body)))
			}()
			return nil
		},
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		panic(err)
	}
	// Output:
	// {"name":"acme/operator-index","tags":["v4.20"]}
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
