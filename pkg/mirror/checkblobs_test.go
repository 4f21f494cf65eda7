package mirror

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestLostBlobIsFoundAndBrought checks that CheckBlobs finds a blob that the registry's storage
// lost, although the manifest is still present, and that Run pushes it again.
func TestLostBlobIsFoundAndBrought(t *testing.T) {
	m := sample(t)
	registry := newMemoryRegistry()
	mustRun(t, m.plan(), m.source(), registry, Options{})
	base := m.plan().Blobs[0]
	for _, b := range m.plan().Blobs {
		if b.Size > base.Size {
			base = b
		}
	}
	delete(registry.blobs, key("org/a", base.Digest))
	whole := Options{CheckBlobs: true}

	if lacks, err := Verify(t.Context(), m.plan(), registry, Options{}); err != nil || len(lacks) > 0 {
		t.Fatalf("without asking for blobs: %v, %v", lacks, err)
	}
	registry.calls = map[string]int{}
	lacks, err := Verify(t.Context(), m.plan(), registry, whole)
	if err != nil || len(lacks) != 2 {
		t.Fatalf("%+v, %v; want both images of org/a", lacks, err)
	}
	for _, l := range lacks {
		if l.Repository != "org/a" || len(l.Blobs) != 1 || l.Blobs[0] != base.Digest || l.Problem != "its blob "+base.Digest.String()+" is missing" {
			t.Errorf("%+v", l)
		}
	}
	pairs := map[string]bool{}
	w, err := newWork(m.plan(), true)
	fail.On(t, err)
	for _, img := range w.images {
		for _, b := range img.blobs {
			pairs[key(img.repository, b.desc.Digest)] = true
		}
	}
	fail.Diff(t, len(pairs), registry.calls["has blob"])

	if rep := mustRun(t, m.plan(), m.source(), registry, Options{}); !rep.UpToDate() {
		t.Errorf("a run without CheckBlobs reported %+v", rep)
	}
	names, err := RegistryPath{Host: "mirror.example.com"}.Repositories(m.plan())
	fail.On(t, err)
	h := NewRecord(m.plan(), names, &Report{}, nil)
	rep := mustRun(t, m.plan(), m.source(), registry, Options{CheckBlobs: true, KnownTags: NewKnownTags(names, &h)})
	if rep.Present != 4 || rep.Copied != 2 || rep.BlobsMounted+rep.BlobsCopied != 1 {
		t.Errorf("%+v; want one blob copied for two images", rep)
	}
	if lacks, err := Verify(t.Context(), m.plan(), registry, whole); err != nil || len(lacks) > 0 {
		t.Error(cmp.Diff([]MissingImage(nil), lacks), err)
	}
}

// TestBlobOfAnotherLengthIsLost checks that a truncated blob is reported like a missing one. The
// registry does not accept it again, so its images fail.
func TestBlobOfAnotherLengthIsLost(t *testing.T) {
	m := sample(t)
	registry := newMemoryRegistry()
	mustRun(t, m.plan(), m.source(), registry, Options{})
	cut := m.blob("b1")
	registry.fail = func(call, repository string, d digest.Digest) error {
		if call == "has blob" && d == cut {
			return &remote.Error{Op: call, Repository: repository, Err: remote.ErrMismatch}
		}
		return nil
	}
	lacks, err := Verify(t.Context(), m.plan(), registry, Options{CheckBlobs: true})
	if err != nil || len(lacks) != 1 || lacks[0].Repository != "org/b" || len(lacks[0].Blobs) != 1 {
		t.Errorf("%+v, %v", lacks, err)
	}
	rep := mustRun(t, m.plan(), m.source(), registry, Options{CheckBlobs: true})
	if len(rep.Failed) != 1 || rep.Failed[0].Repository != "org/b" {
		t.Errorf("%+v", rep)
	}
}

// TestArrivalAtTheEndIsNoted checks that a blob that was completed while the run ended is in the
// journal.
func TestArrivalAtTheEndIsNoted(t *testing.T) {
	m := sample(t)
	registry, journal := newMemoryRegistry(), &memoryJournal{lines: map[string]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	registry.fail = func(call, _ string, _ digest.Digest) error {
		if call == "put blob" {
			cancel()
		}
		return nil
	}
	if _, err := Run(ctx, m.plan(), m.source(), registry, Options{Streams: 1, Journal: journal}); !errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v", err)
	}
	if len(registry.blobs) != 1 || len(journal.lines) != 1 {
		t.Errorf("%d blobs arrived, and %d are noted", len(registry.blobs), len(journal.lines))
	}
}
