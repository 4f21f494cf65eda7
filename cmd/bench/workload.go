package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A maker makes workloads: with the programs of a module beside the checkout or, if workload is "",
// with package registrytest.
type maker struct {
	workload string   // program
	floor    []string // the program, with the verb if it is this program
}

// newMaker builds the programs of a module into dir if the module exists.
func newMaker(ctx context.Context, module, dir string) (maker, error) {
	self, err := os.Executable()
	if err != nil {
		return maker{}, err
	}
	if _, err := os.Stat(filepath.Join(module, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		return maker{floor: []string{self, floorVerb}}, nil
	} else if err != nil {
		return maker{}, err
	}
	m := maker{workload: filepath.Join(dir, "workload"), floor: []string{filepath.Join(dir, "floor")}}
	for program, of := range map[string]string{m.workload: ".", m.floor[0]: "./cmd/floor"} {
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", program, of)
		build.Dir = module
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
		if out, err := build.CombinedOutput(); err != nil {
			return maker{}, fmt.Errorf("building %s in %s: %w: %s; with -workload none bench makes its own", of, module, err, out)
		}
	}
	return m, nil
}

// String returns the source of the workloads, for the table.
func (m maker) String() string {
	if m.workload == "" {
		return "the project's own workloads and floor"
	}
	return "workloads and floor of the module beside the checkout"
}

// A workload is a filled registry, with the information that tools need about it.
type workload struct {
	preset    string
	source    *registry
	items     []item
	inventory *inventory
	// config is an ImageSetConfiguration that selects all items.
	config string
	floor  []string // the floor's program and first arguments
	plan   string   // the inventory that the floor reads
}

// fill makes a workload in a new registry. Its files are written to dir.
func (m maker) fill(ctx context.Context, name, dir string, latency time.Duration) (_ *workload, err error) {
	p, err := shapeOf(name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	w := &workload{preset: name, floor: m.floor, config: filepath.Join(dir, "imageset.yaml"), plan: filepath.Join(dir, "plan.json")}
	if w.source, err = startRegistry(ctx, dir, latency); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.source.remove()
		}
	}()
	host, list := w.source.host(), filepath.Join(dir, "list.tsv")
	if m.workload == "" {
		w.items, err = push(ctx, registrytest.NewClient(host), host, p.shape)
	} else {
		w.items, err = m.run(ctx, name, host, dir, list)
	}
	if err != nil {
		return nil, fmt.Errorf("making workload %s: %w", name, err)
	}
	if w.inventory, err = readInventory(ctx, host, w.items); err != nil {
		return nil, err
	}
	if err := os.WriteFile(w.config, imageSet(host, w.items), 0o644); err != nil {
		return nil, err
	}
	if m.workload == "" {
		return w, w.inventory.write(w.plan)
	}
	args := slices.Concat(m.floor[1:], []string{"plan", host, list, w.plan})
	if out, err := exec.CommandContext(ctx, m.floor[0], args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("planning the floor: %w: %s", err, out)
	}
	return w, nil
}

// run makes a workload with the module beside the checkout.
func (m maker) run(ctx context.Context, name, host, dir, list string) ([]item, error) {
	out, err := exec.CommandContext(ctx, m.workload, "-preset", name, "-registry", host, "-out", dir).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	f, err := os.Open(list)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readItems(f)
}

// imageSet returns a configuration that makes Gantry copy all items: the catalog with the images
// that it names. Signatures are found beside them.
func imageSet(host string, items []item) []byte {
	var operators strings.Builder
	for _, i := range items {
		if i.kind == catalogKind {
			fmt.Fprintf(&operators, "  - catalog: %s/%s:%s\n    full: true\n", host, i.repository, i.tag)
		}
	}
	return []byte("kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  operators:\n" + operators.String())
}
