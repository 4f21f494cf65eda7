package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// Names in the demo's folder.
const (
	planFile     = "plan.json"
	archiveDir   = "disk"
	nextDir      = "next-disk"
	keyFile      = "signing-key" // and its public half with .pub
	nearSpace    = "workspace"   // on the connected side
	farSpace     = "workspace-far"
	imageSetFile = "imageset.yaml"
	firstFile    = "first.yaml" // and its schema
	firstSchema  = "first.schema.json"
	registries   = "registries.conf"

	platformFile   = "platform.yaml"
	releaseKeyFile = "release-key.asc"
)

// A mirrored is something from the sample that the mirrors must have.
type mirrored struct{ repository, tag string }

// The catalogs and images of the sample, by their names in the mirrors.
var (
	mirroredCatalogs = []mirrored{{"acme/operator-index", "v4.20"}, {"community/curated-index", "v4.20"}}
	mirroredImages   = []mirrored{{"tools/netcheck", "1.4"}, {"support/must-gather", "latest"}}
)

// A demo is one run: its registries, its folder and its output.
type demo struct {
	program, dir      string
	out               io.Writer
	steps             []timedStep
	stepBegan         time.Time
	sample            *registrytest.Sample
	source, far, near *memoryRegistry
	err               error // the first one of gantry, show, list and bytesIn
}

func newDemo(program, dir string, out io.Writer) (*demo, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("%w; build it first: make build", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	for _, name := range []string{planFile, archiveDir, nextDir, keyFile, keyFile + ".pub", nearSpace, farSpace, imageSetFile, firstFile, firstSchema, registries, platformFile, releaseKeyFile, contentFile, policyFile, imageKey, scriptFile, pulledFile, chartDir} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return &demo{program: program, dir: dir, out: out}, os.MkdirAll(dir, 0o755)
}

func (d *demo) close() {
	for _, r := range []*memoryRegistry{d.source, d.far, d.near} {
		if r != nil {
			r.close()
		}
	}
}

func (d *demo) fillSource(ctx context.Context) error {
	d.title("Three registries on loopback, and a source with two operator catalogs")
	began := time.Now()
	for _, r := range []**memoryRegistry{&d.source, &d.far, &d.near} {
		started, err := startRegistry(ctx)
		if err != nil {
			return err
		}
		*r = started
	}
	var err error
	if d.sample, err = registrytest.NewSample(); err != nil {
		return err
	}
	if err := d.sample.Push(ctx, registrytest.NewClient(d.source.host)); err != nil {
		return err
	}
	if err := d.sample.WriteConfig(d.dir, d.source.host, d.source.host, d.far.host, d.near.host); err != nil {
		return err
	}
	d.say("source                  %s   %d images of three fictitious hosts, pushed in %s", d.source.host, len(d.sample.References()), since(began))
	d.say("disconnected mirror     %s   empty", d.far.host)
	d.say("connected mirror        %s   empty", d.near.host)
	d.say("")
	d.say("%s redirects these hosts to the source. The configuration:", registries)
	d.say("")
	d.show(imageSetFile)
	return nil
}

// initialize writes a first configuration, and plans it.
func (d *demo) initialize(ctx context.Context) error {
	d.title("A first configuration for an operator, and what it would mirror")
	d.gantry(ctx, "init", firstFile, "--version", "none", "--catalog", "registry.example.com/acme/operator-index:v4.20", "--operator", "tidewater", "--workspace", nearSpace)
	d.show(firstFile)
	d.gantry(ctx, "plan", "-c", firstFile, "--workspace", nearSpace)
	return nil
}

func (d *demo) plan(ctx context.Context) error {
	d.title("Plan: resolve every tag, package and channel to digests with sizes")
	d.gantry(ctx, "plan", "-c", imageSetFile, "--workspace", nearSpace, "docker://"+d.near.host, "--lock", planFile)
	return nil
}

func (d *demo) mirrorDirectly(ctx context.Context) error {
	d.title("The same directly, from registry to registry")
	d.gantry(ctx, "mirror", "-c", imageSetFile, "--workspace", nearSpace, "docker://"+d.near.host)
	d.list(filepath.Join(nearSpace, "cluster-resources"))
	return nil
}

func (d *demo) mirrorAgain(ctx context.Context) error {
	d.title("Again: nothing is new, so nothing is copied")
	pushed := d.near.pushed.Load()
	d.gantry(ctx, "mirror", "-c", imageSetFile, "--workspace", nearSpace, "docker://"+d.near.host)
	if n := d.near.pushed.Load() - pushed; n != 0 {
		return fmt.Errorf("the second run began %d uploads to %s", n, d.near.host)
	}
	d.say("the mirror received no upload")
	return nil
}

func (d *demo) verify(ctx context.Context) error {
	d.title("Check both mirrors with another client: pull every image that the catalogs name")
	d.source.unplugged.Store(true)
	same := map[mirrored]string{}
	for _, r := range []*memoryRegistry{d.far, d.near} {
		c := registrytest.NewClient(r.host)
		for _, m := range mirroredCatalogs {
			v, err := c.VerifyCatalog(ctx, m.repository, m.tag, nil)
			if err != nil {
				return fmt.Errorf("the catalog %s/%s:%s is not whole: %w", r.host, m.repository, m.tag, err)
			}
			d.say("%s/%s:%s  %d bundles, %d images, %s pulled", r.host, m.repository, m.tag, len(v.Bundles), len(v.Images), size(v.Bytes()))
			if err := note(same, m, v.Catalog.Digest.String()); err != nil {
				return err
			}
		}
		for _, m := range mirroredImages {
			p, err := c.Pull(ctx, m.repository, m.tag)
			if err != nil {
				return err
			}
			d.say("%s/%s:%s  %s pulled", r.host, m.repository, m.tag, size(p.Bytes))
			if err := note(same, m, p.Digest.String()); err != nil {
				return err
			}
		}
	}
	d.say("every manifest, config and layer is present, matches its digest, and is the same in both mirrors")
	return nil
}

// note remembers the digest at one mirror, and compares it with the other.
func note(same map[mirrored]string, m mirrored, digest string) error {
	if have, ok := same[m]; ok && have != digest {
		return fmt.Errorf("%s:%s is %s in one mirror and %s in the other", m.repository, m.tag, have, digest)
	}
	same[m] = digest
	return nil
}

func (d *demo) summary(took, built time.Duration) error {
	d.times(built)
	fmt.Fprintf(d.out, "\nDone in %s.\n\n", took.Round(100*time.Millisecond))
	for _, at := range []struct{ what, name string }{
		{"configuration", imageSetFile},
		{"plan", planFile},
		{"archive", archiveDir},
		{"  of what was new", nextDir},
		{"cluster resources", filepath.Join(nearSpace, "cluster-resources")},
		{"  from the disk", filepath.Join(farSpace, "cluster-resources")},
	} {
		path := filepath.Join(d.dir, at.name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("gantry left no %s: %w", at.what, err)
		} else if err != nil {
			return err
		}
		d.say("%-18s %s", at.what, path)
	}
	return nil
}
