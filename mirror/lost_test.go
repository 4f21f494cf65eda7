package mirror

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A blob that the registry's storage lost is found where every blob is asked for,
// and brought again; a manifest hides it otherwise.
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
		if l.Repository != "org/a" || len(l.Blobs) != 1 || l.Blobs[0] != base.Digest || l.Problem != "its blob "+base.Digest.String()+" is not there" {
			t.Errorf("%+v", l)
		}
	}
	pairs := map[string]bool{}
	w, err := take(m.plan(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, img := range w.images {
		for _, b := range img.blobs {
			pairs[key(img.repository, b.desc.Digest)] = true
		}
	}
	if registry.calls["has blob"] != len(pairs) {
		t.Errorf("%d questions for blobs, want %d", registry.calls["has blob"], len(pairs))
	}

	if rep := mustRun(t, m.plan(), m.source(), registry, Options{}); !rep.Nothing() {
		t.Errorf("a run that believes manifests did %+v", rep)
	}
	names, err := Destination{Host: "mirror.example.com"}.Names(m.plan())
	if err != nil {
		t.Fatal(err)
	}
	h := Hold(m.plan(), names, &Report{}, nil)
	rep := mustRun(t, m.plan(), m.source(), registry, Options{CheckBlobs: true, Receipt: NewReceipt(names, &h)})
	if rep.Present != 4 || rep.Copied != 2 || rep.BlobsMounted+rep.BlobsCopied != 1 {
		t.Errorf("%+v; want one blob brought for two images", rep)
	}
	if lacks, err := Verify(t.Context(), m.plan(), registry, whole); err != nil || len(lacks) > 0 {
		t.Error(cmp.Diff([]Lack(nil), lacks), err)
	}
}

// A blob of which storage lost a part is named like one that is gone; the registry
// does not take it again, so that its images fail.
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

// A blob that arrived while the run was ended is in the journal.
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
