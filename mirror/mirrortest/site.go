package mirrortest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The repositories of the sample's catalogs in a mirror.
const (
	Acme      = "acme/operator-index"
	Community = "community/curated-index"
)

// A Site has a source with the sample in it, a mirror, and a folder for files and the workspace.
type Site struct {
	T      *testing.T
	Dir    string
	Source *registrytest.Server
	Mirror *registrytest.Server
	Sample *registrytest.Sample
	// Env reaches the source by the names of its images. It reads no state of the user who runs the tests. Tests may
	// change it before its first use.
	Env *env.Env
	// Vars are the environment variables of Env.
	Vars map[string]string

	mu   sync.Mutex
	said []string
}

// filled is the sample, for sources.
var filled kept[*registrytest.Sample]

// kept is content that the first test that needs it makes, and the storage of a registry that has it.
type kept[T any] struct {
	once    sync.Once
	content T
	storage string // a folder
	err     error
}

// get returns the content. It is made and pushed once.
func (k *kept[T]) get(t *testing.T, create func() (T, error), push func(ctx context.Context, content T, to *registrytest.Server) error) T {
	t.Helper()
	k.once.Do(func() {
		if k.content, k.err = create(); k.err != nil {
			return
		}
		first := registrytest.Start(t, registrytest.Options{Alone: true, Registry: registrytest.Registries()[0].Name})
		if k.err = push(t.Context(), k.content, first); k.err == nil {
			k.storage, k.err = first.Keep()
		}
	})
	fail.On(t, k.err)
	return k.content
}

// Run runs the tests of a package, and then removes the storage that they share. A TestMain calls it.
func Run(m *testing.M) {
	m.Run()
	for _, storage := range []string{filled.storage, small.storage} {
		if storage != "" {
			_ = os.RemoveAll(storage)
		}
	}
}

// FullSource starts a registry with the sample in it.
func FullSource(t *testing.T) (*registrytest.Server, *registrytest.Sample) {
	t.Helper()
	sample := filled.get(t, registrytest.NewSmallSample, func(ctx context.Context, s *registrytest.Sample, to *registrytest.Server) error {
		return s.Push(ctx, to.Client())
	})
	return registrytest.Start(t, registrytest.Options{Storage: filled.storage}), sample
}

// New starts a source and a mirror.
func New(t *testing.T, mirror registrytest.Options) *Site {
	t.Helper()
	NotAgain(t)
	source, sample := FullSource(t)
	s := newSite(t, source, mirror)
	s.Sample = sample
	fail.On(t, sample.WriteConfig(s.Dir, source.Host, source.Host))
	return s
}

// newSite returns a Site without registries.conf.
func newSite(t *testing.T, source *registrytest.Server, mirror registrytest.Options) *Site {
	t.Helper()
	s := &Site{T: t, Dir: registrytest.TempDir(t), Source: source, Mirror: registrytest.Start(t, mirror)}
	s.Vars = map[string]string{"CONTAINERS_REGISTRIES_CONF": s.Path("registries.conf"), "HOME": t.TempDir()}
	s.Env = s.NewEnv()
	return s
}

// NewEnv returns another Env like Site.Env: a program that starts anew.
func (s *Site) NewEnv() *env.Env {
	e := &env.Env{
		Home: s.Vars["HOME"], MachineConfig: s.Path("etc"), Notice: s.hear, Warn: s.hear,
		Getenv: func(name string) string { return s.Vars[name] },
	}
	s.T.Cleanup(e.Close)
	return e
}

func (s *Site) hear(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, text)
}

// Said returns the notices and warnings since the last call.
func (s *Site) Said() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.said
	s.said = nil
	return said
}

// Path returns the path of a file in the folder.
func (s *Site) Path(name string) string { return filepath.Join(s.Dir, name) }

// Workspace is the folder of the workspace.
func (s *Site) Workspace() string { return s.Path("workspace") }

// Docker returns the mirror as a destination: docker://HOST/PREFIX.
func (s *Site) Docker(prefix string) string {
	return env.RegistryScheme + s.Mirror.Host + "/" + strings.TrimPrefix(prefix, "/")
}

// Archive returns a folder as a destination: file://DIR.
func (s *Site) Archive(name string) string { return env.ArchiveScheme + s.Path(name) }

// Write writes a file to the folder and returns its path.
func (s *Site) Write(name, text string) string {
	s.T.Helper()
	fail.On(s.T, os.WriteFile(s.Path(name), []byte(text), 0o600))
	return s.Path(name)
}

// Config writes a configuration with this mirror stanza, and returns its path.
func (s *Site) Config(name, stanza string) string {
	s.T.Helper()
	return s.Write(name, "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n"+stanza)
}

// Operators writes imageset.yaml with these packages of the sample's catalog, and returns its path.
func (s *Site) Operators(packages ...string) string {
	s.T.Helper()
	stanza := "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    packages:\n"
	for _, name := range packages {
		stanza += "    - name: " + name + "\n"
	}
	return s.Config("imageset.yaml", stanza)
}

// Images writes imageset.yaml with these additional images, and returns its path.
func (s *Site) Images(names ...string) string {
	s.T.Helper()
	stanza := "  additionalImages:\n"
	for _, name := range names {
		stanza += "  - name: " + name + "\n"
	}
	return s.Config("imageset.yaml", stanza)
}

// VerifyCatalog pulls a catalog of the mirror and all its images, with a client that shares no code with Gantry, and
// checks the number of bundles.
func (s *Site) VerifyCatalog(prefix, repository string, bundles int) registrytest.Verified {
	s.T.Helper()
	place := func(path string) string { return strings.Trim(prefix+"/"+path, "/") }
	v, err := s.Mirror.Client().VerifyCatalog(s.T.Context(), place(repository), "v4.20", place)
	fail.On(s.T, err)
	if len(v.Bundles) != bundles {
		s.T.Errorf("catalog %s has %d bundles, want %d: %v", repository, len(v.Bundles), bundles, v.Bundles)
	}
	return v
}

// Refused checks that an error has this kind, and that it and its hint contain these words.
func Refused(t *testing.T, err error, kind advice.Kind, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one of kind %v", kind)
	}
	if got := advice.KindOf(err); got != kind {
		t.Errorf("the error has kind %v, want %v: %v", got, kind, err)
	}
	text := env.ErrorText(err)
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("the error does not contain %q: %s", word, text)
		}
	}
}

// Requests returns the requests that a registry got, as "METHOD /path", in order.
func Requests(server *registrytest.Server, methods ...string) (all []string) {
	for _, r := range server.Log() {
		if len(methods) == 0 || slices.Contains(methods, r.Method) {
			all = append(all, r.Method+" "+r.Path)
		}
	}
	return all
}

// must runs a verb with changed options, and ends the test if it fails.
func must[O, R any](s *Site, verb string, run func(context.Context, O) (R, error), o O, change []func(*O)) R {
	s.T.Helper()
	for _, c := range change {
		c(&o)
	}
	result, err := run(s.T.Context(), o)
	if err != nil {
		s.T.Fatalf("%s: %s\n%s", verb, env.ErrorText(err), strings.Join(s.Said(), "\n"))
	}
	return result
}

// Push pushes an image to the source under REPOSITORY:TAG, and returns REPOSITORY@DIGEST.
func (s *Site) Push(ref string, content registrytest.Content) string {
	s.T.Helper()
	repository, tag, _ := strings.Cut(ref, ":")
	d, err := s.Source.Client().Push(s.T.Context(), repository, tag, content)
	fail.On(s.T, err)
	return repository + "@" + d.String()
}
