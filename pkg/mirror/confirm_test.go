package mirror

import (
	"errors"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// forgetful returns a registry that accepts the manifests of a repository but loses them the first
// few times.
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
	for _, repository := range []string{"org/a", "org/b", "cat/index"} { // confirmed by a list of tags, by a request, and for a catalog
		m := sample(t)
		registry := forgetful(repository, 1)
		rep := mustRun(t, m.plan(), m.source(), registry, Options{})
		if !rep.Complete() || rep.Copied != 6 || len(registry.tags) != 6 {
			t.Errorf("%s was lost once: %+v, %v", repository, rep, registry.tags)
		}

		m = sample(t)
		registry = forgetful(repository, 100)
		rep = mustRun(t, m.plan(), m.source(), registry, Options{})
		if rep.Complete() || len(rep.Failed) == 0 || !errors.Is(rep.Failed[0].Err, errNotStored) {
			t.Errorf("%s is lost for good: %+v", repository, rep)
		}
		if _, published := registry.tags["cat/index:v1"]; published {
			t.Errorf("%s is lost for good: the catalog was published", repository)
		}
	}
}

// TestRunIsNotDeceivedByAnOldTag checks that a tag that was already present proves nothing unless
// it contains the digest.
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
			if calls++; calls > 5 { // the calls before the copy
				return errors.New("denied")
			}
		}
		return nil
	}
	if rep := mustRun(t, m.plan(), m.source(), registry, Options{}); !rep.Complete() {
		t.Errorf("%+v", rep)
	}
	fail.Diff(t, 6, registry.calls["has manifest"])
}

func TestRunStopsWithTheFirstFailure(t *testing.T) {
	gone := errors.New("gone")
	m := sample(t)
	source, registry := m.source(), newMemoryRegistry()
	base := m.blob(strings.Repeat("base layer ", 100)) // the largest blob is copied first
	source.broken[base] = gone
	rep, err := Run(t.Context(), m.plan(), source, registry, Options{Streams: 1, StopOnError: true})
	var stopped *StopError
	if !errors.As(err, &stopped) || !errors.Is(err, gone) {
		t.Fatalf("Run = %v, want it to stop", err)
	}
	if rep.Complete() || rep.Copied != 0 || registry.calls["put blob"] != 1 || registry.calls["put manifest"] != 0 {
		t.Errorf("%+v after %v", rep, registry.calls)
	}
	delete(source.broken, base)
	if rep := mustRun(t, m.plan(), source, registry, Options{StopOnError: true}); !rep.Complete() {
		t.Errorf("run again: %+v", rep)
	}
}

func TestRunDoesNotBeginWhatMissesImages(t *testing.T) {
	m := sample(t)
	p := m.plan()
	p.Missing = append(p.Missing, missing("src.example.com/org/lost:v1"))
	registry := newMemoryRegistry()
	rep, err := Run(t.Context(), p, m.source(), registry, Options{StopOnError: true})
	var stopped *StopError
	if !errors.As(err, &stopped) || stopped.Image != "src.example.com/org/lost:v1" || len(rep.Failed) != 1 || len(registry.calls) != 0 {
		t.Errorf("Run = %v, %+v, %v", err, rep, registry.calls)
	}
}

// TestRunTellsWhatWasFoundFromWhatWasCopied checks that content that a store already has is counted
// as found, not as copied.
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
