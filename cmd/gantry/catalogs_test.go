package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The catalogs of zoo.txtar: their references, and their repositories in a mirror.
const (
	zooRef = mirrortest.ZooRef
	river  = mirrortest.River
)

// emptyFixture returns a fixture whose source is empty and replaces the hosts of zoo.txtar.
func emptyFixture(t *testing.T, source *registrytest.Server) *fixture {
	t.Helper()
	notAgain(t)
	w := &fixture{t: t, dir: registrytest.TempDir(t), source: source, mirror: registrytest.Start(t, registrytest.Options{})}
	w.surroundings(w.standFor("registry.example.com", "quay.example.org"), "")
	return w
}

// standFor writes a registries.conf in which the source replaces these hosts, and returns its path.
func (w *fixture) standFor(hosts ...string) string {
	w.t.Helper()
	var conf strings.Builder
	fmt.Fprintf(&conf, "[[registry]]\nlocation = %q\ninsecure = true\n", w.source.Host)
	for _, host := range hosts {
		fmt.Fprintf(&conf, "\n[[registry]]\nprefix = %q\nlocation = %q\ninsecure = true\n", host, w.source.Host+"/"+host)
	}
	return w.write("registries.conf", conf.String())
}

// newCatalogFixture returns a fixture with the content of zoo.txtar of package mirrortest: its catalogs with all their
// images, in the source and as folders, and its other files in the folder. The mirror is real.
func newCatalogFixture(t *testing.T) *fixture {
	t.Helper()
	notAgain(t)
	_ = mirrortest.Short(t) // whether it is the same in make test was decided above
	s := mirrortest.Catalogs(t)
	w := &fixture{t: t, dir: s.Dir, source: s.Source, mirror: s.Mirror}
	w.surroundings(w.standFor("registry.example.com", "quay.example.org"), "")
	return w
}

// push pushes an image to the path for "host/path:tag" in the source and returns the reference by
// digest.
func (w *fixture) push(ref string, content registrytest.Content) string {
	w.t.Helper()
	repository, tag, _ := strings.Cut(ref, ":")
	digest, err := w.source.Client().Push(w.t.Context(), repository, tag, content)
	fail.On(w.t, err)
	return repository + "@" + digest.String()
}

// mkdir creates a folder in the fixture's folder.
func (w *fixture) mkdir(name string) {
	w.t.Helper()
	fail.On(w.t, os.MkdirAll(w.path(name), 0o750))
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// read reads a file in the fixture's folder.
func (w *fixture) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.path(name))
	fail.On(w.t, err)
	return string(text)
}

func (w *fixture) readPlan(name string) *plan.Plan {
	w.t.Helper()
	p, err := plan.Read(strings.NewReader(w.read(name)))
	fail.On(w.t, err)
	return p
}

// tree reads all files below a folder of the fixture, by path.
func (w *fixture) tree(dir string) map[string]string {
	w.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(w.path(dir), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		files[strings.TrimPrefix(name, w.path(dir)+"/")] = string(text)
		return err
	})
	fail.On(w.t, err)
	return files
}
