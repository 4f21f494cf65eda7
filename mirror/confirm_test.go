package mirror

import (
	"errors"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

// forgetful takes manifests and loses those of a repository the first few times.
func forgetful(repository string, times int) *memoryRegistry {
	registry := newMemoryRegistry()
	lost := 0
	registry.lose = func(at string, _ digest.Digest) bool {
		if at == repository && lost < times {
			lost++
			return true
		}
		return false
	}
	return registry
}

func TestRunNoticesWhatTheRegistryDidNotKeep(t *testing.T) {
	for _, repository := range []string{"org/a", "org/b", "cat/index"} { // a list of tags, a question, a catalog
		m := sample(t)
		registry := forgetful(repository, 1)
		rep := mustRun(t, m.plan(), m.source(), registry, Options{})
		if !rep.Complete() || rep.Copied != 6 || len(registry.tags) != 6 {
			t.Errorf("%s was lost once: %+v, %v", repository, rep, registry.tags)
		}

		m = sample(t)
		registry = forgetful(repository, 100)
		rep = mustRun(t, m.plan(), m.source(), registry, Options{})
		if rep.Complete() || len(rep.Failed) == 0 || !errors.Is(rep.Failed[0].Err, errVanished) {
			t.Errorf("%s is lost for good: %+v", repository, rep)
		}
		if _, published := registry.tags["cat/index:v1"]; published {
			t.Errorf("%s is lost for good: the catalog was published", repository)
		}
	}
}

// A tag that was there before proves nothing, unless it says the digest.
func TestRunIsNotDeceivedByAnOldTag(t *testing.T) {
	m := sample(t)
	registry := newMemoryRegistry()
	mustRun(t, m.plan(), m.source(), registry, Options{})
	next := newMaker(t)
	next.add("org/a", "v1", next.image("new a1"))
	next.add("org/a", "v2", next.image("new a2"))
	registry.lose = func(string, digest.Digest) bool { return true }
	rep := mustRun(t, next.plan(), next.source(), registry, Options{})
	if len(rep.Failed) != 2 || rep.Copied != 0 {
		t.Errorf("%+v", rep)
	}
}

func TestRunConfirmsWithoutListsOfTags(t *testing.T) {
	m := sample(t)
	registry := newMemoryRegistry()
	calls := 0
	registry.fail = func(call, _ string, _ digest.Digest) error {
		if call == "tags" {
			if calls++; calls > 5 { // those before the copy
				return errors.New("denied")
			}
		}
		return nil
	}
	if rep := mustRun(t, m.plan(), m.source(), registry, Options{}); !rep.Complete() {
		t.Errorf("%+v", rep)
	}
	if n := registry.calls["has manifest"]; n != 5+6 {
		t.Errorf("%d questions, want one an image beside the first five", n)
	}
}

func TestRunStopsWithTheFirstFailure(t *testing.T) {
	gone := errors.New("gone")
	m := sample(t)
	source, registry := m.source(), newMemoryRegistry()
	base := m.blob(strings.Repeat("base layer ", 100)) // the largest is the first
	source.broken[base] = gone
	rep, err := Run(t.Context(), m.plan(), source, registry, Options{Streams: 1, Stop: true})
	var stopped *StopError
	if !errors.As(err, &stopped) || !errors.Is(err, gone) {
		t.Fatalf("Run = %v, want it to stop", err)
	}
	if rep.Complete() || rep.Copied != 0 || registry.calls["put blob"] != 1 || registry.calls["put manifest"] != 0 {
		t.Errorf("%+v after %v", rep, registry.calls)
	}
	delete(source.broken, base)
	if rep := mustRun(t, m.plan(), source, registry, Options{Stop: true}); !rep.Complete() {
		t.Errorf("run again: %+v", rep)
	}
}

func TestRunDoesNotBeginWhatMissesImages(t *testing.T) {
	m := sample(t)
	p := m.plan()
	p.Missing = append(p.Missing, missing("src.example.com/org/lost:v1"))
	registry := newMemoryRegistry()
	rep, err := Run(t.Context(), p, m.source(), registry, Options{Stop: true})
	var stopped *StopError
	if !errors.As(err, &stopped) || stopped.Image != "src.example.com/org/lost:v1" || len(rep.Failed) != 1 || len(registry.calls) != 0 {
		t.Errorf("Run = %v, %+v, %v", err, rep, registry.calls)
	}
}

// What a store has of its own is found, not copied.
func TestRunTellsWhatWasFoundFromWhatWasCopied(t *testing.T) {
	m := sample(t)
	store := &knowing{memoryStore: memoryStore{content: map[digest.Digest][]byte{}}, has: map[digest.Digest][]byte{}}
	base := m.blob(strings.Repeat("base layer ", 100))
	store.has[base] = m.content[base]
	meter := &Meter{}
	rep := mustRun(t, m.plan(), m.source(), store, Options{Meter: meter})
	blobs := int64(len(m.plan().Blobs))
	if rep.BlobsFound != 1 || rep.BlobsCopied != blobs-1 || meter.Progress().Found != int64(len(m.content[base])) {
		t.Errorf("%d found, %d copied of %d; %+v", rep.BlobsFound, rep.BlobsCopied, blobs, meter.Progress())
	}
}
