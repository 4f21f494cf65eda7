package mirror

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	images "github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

const catalogSource = "src.example.com/cat/index:v1"

func of(catalog string) plan.Reason {
	return plan.Reason{Catalog: catalog, Package: "p", Bundle: "p.v1"}
}

// sample returns a plan with the interesting cases: layers shared within and between repositories,
// a multi-platform image, and a catalog of all images.
func sample(t *testing.T) *maker {
	m := newMaker(t)
	base := strings.Repeat("base layer ", 100)
	m.add("org/a", "v1", m.image(base, "a1", "config a1"), of(catalogSource))
	m.add("org/a", "v2", m.image(base, "a2", "config a2"), of(catalogSource))
	m.add("org/b", "v1", m.image(base, "b1", "config b1"), of(catalogSource))
	m.add("org/multi", "v1", m.index(m.image(base, "amd64"), m.image("arm64")), of(catalogSource))
	m.add("other/extra", "latest", m.image("extra"))
	m.addCatalog(catalogSource, "cat/index", m.image("the catalog"))
	return m
}

func mustRun(t *testing.T, p *plan.Plan, source images.Reader, sink Destination, opts Options) *Report {
	t.Helper()
	rep, err := Run(t.Context(), p, source, sink, opts)
	fail.On(t, err)
	return rep
}

func TestRunCopiesEachBlobOnce(t *testing.T) {
	m := sample(t)
	source, registry := m.source(), newMemoryRegistry()
	p := m.plan()
	rep := mustRun(t, p, source, registry, Options{Streams: 3})
	if !rep.Complete() || rep.Copied != 6 || rep.Present != 0 {
		t.Errorf("report %+v, want 6 images copied", rep)
	}
	for _, b := range p.Blobs {
		fail.Diff(t, 1, source.given[b.Digest])
	}
	for _, img := range p.Images {
		fail.Diff(t, img.Digest, registry.tags[img.Repository+":"+img.Tags[0]])
	}
	want := map[string]int{
		"has manifest": 4,     // the single images of a repository, afterwards
		"tags":         5 + 1, // to see whether it is empty; afterwards, for the repository of two images
		"put blob":     len(p.Blobs),
		"mount blob":   2, // the base layer in two more repositories
		"put manifest": len(p.Manifests),
	}
	fail.Diff(t, want, registry.calls)
}

func TestRunAgainFindsNothingToDo(t *testing.T) {
	m := sample(t)
	registry := newMemoryRegistry()
	mustRun(t, m.plan(), m.source(), registry, Options{})
	registry.calls = map[string]int{}
	source := m.source()
	rep := mustRun(t, m.plan(), source, registry, Options{})
	if !rep.UpToDate() || rep.Present != 6 {
		t.Errorf("report %+v, want everything present", rep)
	}
	if len(source.given) > 0 {
		t.Errorf("content was requested from the source: %v", source.given)
	}
	// One request for each image and each child, and one list that shows that the registry is not new.
	fail.Diff(t, map[string]int{"has manifest": 8, "tags": 1}, registry.calls)
}

func TestRunWithholdsTheCatalog(t *testing.T) {
	m := sample(t)
	source, registry := m.source(), newMemoryRegistry()
	gone := errors.New("gone")
	source.broken[m.blob("b1")] = gone
	rep := mustRun(t, m.plan(), source, registry, Options{})
	if len(rep.Failed) != 1 || rep.Failed[0].Source != "src.example.com/org/b:v1" || !errors.Is(rep.Failed[0].Err, gone) {
		t.Errorf("failed: %+v, want org/b alone", rep.Failed)
	}
	fail.Diff(t, []Withheld{{Catalog: catalogSource, Missing: []string{"src.example.com/org/b:v1"}}}, rep.Withheld)
	if _, ok := registry.tags["cat/index:v1"]; ok {
		t.Error("the catalog was published, though an image that it names is missing")
	}
	if _, ok := registry.tags["other/extra:latest"]; !ok || rep.Copied != 4 {
		t.Errorf("%d images copied, extra among them: %v; want the 4 that can be", rep.Copied, ok)
	}

	delete(source.broken, m.blob("b1"))
	rep = mustRun(t, m.plan(), source, registry, Options{})
	if !rep.Complete() || registry.tags["cat/index:v1"] == "" {
		t.Errorf("after the source was fixed: %+v", rep)
	}
}

func TestRunWithholdsTheCatalogForMissingImages(t *testing.T) {
	m := sample(t)
	p := m.plan()
	p.Missing = []plan.Missing{{Source: "src.example.com/org/lost:v1", Message: "not found", Reasons: []plan.Reason{of(catalogSource)}}}
	registry := newMemoryRegistry()
	rep := mustRun(t, p, m.source(), registry, Options{})
	if len(rep.Failed) != 1 || len(rep.Withheld) != 1 || registry.tags["cat/index:v1"] != "" {
		t.Errorf("report %+v, want the catalog held back", rep)
	}
}

func TestRunEndsWithAFatalError(t *testing.T) {
	refused := errors.New("refused")
	for _, call := range []string{"put blob", "put manifest"} {
		m := sample(t)
		registry := newMemoryRegistry()
		registry.fail = func(c, _ string, _ digest.Digest) error {
			if c == call {
				return refused
			}
			return nil
		}
		_, err := Run(t.Context(), m.plan(), m.source(), registry, Options{Streams: 1, Fatal: func(err error) bool { return errors.Is(err, refused) }})
		if !errors.Is(err, refused) || registry.calls[call] != 1 {
			t.Errorf("%s: Run = %v after %d calls, want the first refusal to end it", call, err, registry.calls[call])
		}
	}
	// The same error from the source fails only that image.
	m := sample(t)
	source := m.source()
	source.broken[m.blob("a1")] = refused
	rep, err := Run(t.Context(), m.plan(), source, newMemoryRegistry(), Options{Fatal: func(err error) bool { return errors.Is(err, refused) }})
	if err != nil || len(rep.Failed) != 1 {
		t.Errorf("an error of the source: %v, %+v", err, rep.Failed)
	}
}

func TestRunInterrupted(t *testing.T) {
	m := sample(t)
	registry := newMemoryRegistry()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	registry.fail = func(call, _ string, _ digest.Digest) error {
		if call == "put blob" && registry.calls[call] == 4 {
			cancel(stop)
		}
		return nil
	}
	journal := &memoryJournal{lines: map[string]bool{}}
	if _, err := Run(ctx, m.plan(), m.source(), registry, Options{Streams: 1, Journal: journal}); !errors.Is(err, stop) {
		t.Fatalf("Run = %v, want %v", err, stop)
	}
	if len(journal.lines) < 3 {
		t.Fatalf("the journal has %d lines", len(journal.lines))
	}
	registry.fail = func(string, string, digest.Digest) error { return nil }
	source := m.source()
	rep := mustRun(t, m.plan(), source, registry, Options{Journal: journal})
	if !rep.Complete() {
		t.Errorf("the second run: %+v", rep)
	}
	for k := range journal.before {
		if d := digest.Digest(k[strings.Index(k, "@")+1:]); source.given[d] > 0 {
			t.Errorf("blob %s arrived in the first run and was read again", k)
		}
	}
}

// A memoryJournal is a Journal in memory; before is its content when it was first queried.
type memoryJournal struct {
	mu            sync.Mutex
	lines, before map[string]bool
}

func (j *memoryJournal) Has(repository string, d digest.Digest) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.before == nil {
		j.before = map[string]bool{}
	}
	if j.lines[key(repository, d)] {
		j.before[key(repository, d)] = true
	}
	return j.lines[key(repository, d)]
}

func (j *memoryJournal) Add(repository string, d digest.Digest) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines[key(repository, d)] = true
	return nil
}

// A memoryStore stores content by digest only.
type memoryStore struct {
	mu      sync.Mutex
	content map[digest.Digest][]byte
}

func (s *memoryStore) Has(desc ocispec.Descriptor) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.content[desc.Digest]
	return ok
}

func (s *memoryStore) PutBlob(ctx context.Context, _ string, desc ocispec.Descriptor, open Open) error {
	body, err := open(ctx, 0)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return s.PutManifest(ctx, "", desc, raw, nil)
}

func (s *memoryStore) PutManifest(_ context.Context, _ string, desc ocispec.Descriptor, raw []byte, _ []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content[desc.Digest] = raw
	return nil
}

func TestRunThroughAStore(t *testing.T) {
	m := sample(t)
	store := &memoryStore{content: map[digest.Digest][]byte{}}
	rep := mustRun(t, m.plan(), m.source(), store, Options{})
	if diff := cmp.Diff(m.content, store.content); diff != "" || !rep.Complete() {
		t.Errorf("content: %s\nreport %+v", diff, rep)
	}
	if again := mustRun(t, m.plan(), m.source(), store, Options{}); !again.UpToDate() {
		t.Errorf("second run: %+v", again)
	}
	source := m.source()
	source.content = store.content
	there, direct := newMemoryRegistry(), newMemoryRegistry()
	mustRun(t, m.plan(), source, there, Options{})
	mustRun(t, m.plan(), m.source(), direct, Options{})
	fail.Diff(t, direct.tags, there.tags)
}

func TestCompare(t *testing.T) {
	m := sample(t)
	var total int64
	for _, text := range m.content {
		total += int64(len(text))
	}
	p := m.plan()
	p.Totals.Bytes = total
	registry := newMemoryRegistry()
	got, err := Compare(t.Context(), p, registry, Options{})
	fail.On(t, err)
	fail.Diff(t, &ToCopy{Images: 6, Bytes: total}, got, cmpopts.IgnoreFields(ToCopy{}, "Absent"))
	mustRun(t, p, m.source(), registry, Options{})
	delete(registry.tags, "other/extra:latest")
	lost := int64(len("extra") + len(m.content[m.image("extra")]))
	got, err = Compare(t.Context(), p, registry, Options{})
	fail.On(t, err)
	fail.Diff(t, &ToCopy{Images: 1, Present: 5, Bytes: lost, BytesPresent: total - lost}, got, cmpopts.IgnoreFields(ToCopy{}, "Absent"))
}

// A brokenJournal cannot be written.
type brokenJournal struct{}

func (brokenJournal) Has(string, digest.Digest) bool  { return false }
func (brokenJournal) Add(string, digest.Digest) error { return errors.New("disk full") }

func TestRunWithoutAJournal(t *testing.T) {
	m := sample(t)
	if rep := mustRun(t, m.plan(), m.source(), newMemoryRegistry(), Options{Journal: brokenJournal{}}); !rep.Complete() {
		t.Errorf("a hint that cannot be written failed the run: %+v", rep)
	}
}

// TestRunIfComparingFails checks that a repository that cannot be compared does not stop the
// others.
func TestRunIfComparingFails(t *testing.T) {
	m := sample(t)
	registry := newMemoryRegistry()
	registry.fail = func(_, repository string, _ digest.Digest) error {
		if repository == "org/b" {
			return errors.New("NAME_INVALID")
		}
		return nil
	}
	rep := mustRun(t, m.plan(), m.source(), registry, Options{})
	if len(rep.Failed) != 1 || rep.Failed[0].Repository != "org/b" || len(rep.Withheld) != 1 || rep.Copied != 4 {
		t.Errorf("report: %+v, want org/b failed alone", rep)
	}
	if _, err := Compare(t.Context(), m.plan(), registry, Options{}); err == nil {
		t.Error("Look does not report what it could not compare")
	}
}

func TestCompareWithAStore(t *testing.T) {
	m := sample(t)
	store := &memoryStore{content: map[digest.Digest][]byte{}}
	p := m.plan()
	for _, text := range m.content {
		p.Totals.Bytes += int64(len(text))
	}
	mustRun(t, p, m.source(), store, Options{})
	got, err := Compare(t.Context(), p, store, Options{})
	fail.On(t, err)
	fail.Diff(t, &ToCopy{Present: 6, BytesPresent: p.Totals.Bytes}, got, cmpopts.IgnoreFields(ToCopy{}, "Absent"))
}
