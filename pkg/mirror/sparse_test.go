package mirror

import (
	"errors"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// sparseSample returns a plan with a large image, and two images with sparse indexes.
func sparseSample(t *testing.T) *maker {
	m := newMaker(t)
	m.add("org/a", "v1", m.image(strings.Repeat("large ", 1000)))
	m.add("org/b", "v1", m.index(m.image(strings.Repeat("medium ", 100))))
	m.add("org/c", "v1", m.index(m.image("small")))
	for i := range m.p.Manifests {
		m.p.Manifests[i].Sparse = len(m.p.Manifests[i].Manifests) > 0
	}
	return m
}

// TestRunProbesSparseIndexes checks that the run pushes the smallest sparse index before anything
// else, to find out whether the registry refuses sparse indexes.
func TestRunProbesSparseIndexes(t *testing.T) {
	m := sparseSample(t)
	p := m.plan()
	sparse := map[digest.Digest]bool{}
	for _, mf := range p.Manifests {
		sparse[mf.Digest] = mf.Sparse
	}
	registry := newMemoryRegistry()
	refuse := func(call, _ string, d digest.Digest) error {
		if call == "put manifest" && sparse[d] {
			return &remote.Error{Host: "h", Op: "pushing the manifest v1", Status: 400, Code: "MANIFEST_BLOB_UNKNOWN"}
		}
		return nil
	}
	registry.fail = refuse
	source := m.source()
	_, err := Run(t.Context(), p, source, registry, Options{Streams: 4})
	var refused *SparseError
	if !errors.As(err, &refused) || refused.Image != "src.example.com/org/c:v1" {
		t.Fatalf("Run = %v, want a SparseError about the smallest image", err)
	}
	for _, want := range []string{"platforms", "sparse", "MANIFEST_BLOB_UNKNOWN", "validation.manifests.indexes.platforms: none"} {
		if !strings.Contains(advice.Text(err), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	fail.Diff(t, 1, registry.calls["put blob"])

	// If the registry accepts them, everything is copied, each blob and manifest once.
	registry = newMemoryRegistry()
	source = m.source()
	rep := mustRun(t, p, source, registry, Options{Streams: 4})
	if !rep.Complete() || rep.Copied != 3 || rep.Manifests != int64(len(p.Manifests)) {
		t.Errorf("report %+v", rep)
	}
	fail.Diff(t, len(p.Manifests), registry.calls["put manifest"])
	for _, b := range p.Blobs {
		if n := source.given[b.Digest]; n > 1 {
			t.Errorf("blob %s was read %d times", b.Digest, n)
		}
	}
}

// TestRunContinuesIfTheProbeHasNoContent checks that an error of the source for the probed image
// fails only that image.
func TestRunContinuesIfTheProbeHasNoContent(t *testing.T) {
	m := sparseSample(t)
	p := m.plan()
	source, registry := m.source(), newMemoryRegistry()
	source.broken[digest.FromString("small")] = errors.New("gone")
	rep := mustRun(t, p, source, registry, Options{})
	if rep.Copied != 2 || len(rep.Failed) != 1 || rep.Failed[0].Source != "src.example.com/org/c:v1" {
		t.Errorf("report %+v, want the others copied", rep)
	}
	fail.Diff(t, 3, registry.calls["put blob"])
}

// TestProbeStopsWithTheRun checks that a run that stops pushes no manifest of the probed image if
// its blobs were not sent.
func TestProbeStopsWithTheRun(t *testing.T) {
	m := sparseSample(t)
	m.add("org/a", "v2", m.image("small", "another"))
	registry := newMemoryRegistry()
	full := errors.New("full")
	registry.fail = func(call, repository string, _ digest.Digest) error {
		if call == "put blob" && repository == "org/a" {
			return full
		}
		return nil
	}
	_, err := Run(t.Context(), m.plan(), m.source(), registry, Options{StopOnError: true})
	if !errors.Is(err, full) || registry.calls["put blob"] != 1 {
		t.Errorf("after %d blobs: %v", registry.calls["put blob"], err)
	}
	fail.Diff(t, 0, registry.calls["put manifest"])
}

// TestCompareNeedsNamesInALayout checks that content of a layout counts as missing if its index was
// not finished and does not list it.
func TestCompareNeedsNamesInALayout(t *testing.T) {
	m := sample(t)
	p := m.plan()
	l, err := layout.Create(t.TempDir(), layout.Options{})
	fail.On(t, err)
	sink := NewLayoutDestination(l)
	mustRun(t, p, m.source(), sink, Options{})
	missing, err := Compare(t.Context(), p, sink, Options{})
	if err != nil || missing.Images != 6 || missing.Bytes > sum(p) {
		t.Errorf("before the index is written: %+v, %v", missing, err)
	}
	fail.On(t, sink.Finish(t.Context(), p))
	if missing, err = Compare(t.Context(), p, sink, Options{}); err != nil || missing.Images != 0 || missing.Present != 6 {
		t.Errorf("afterwards: %+v, %v", missing, err)
	}
}

func sum(p *plan.Plan) (n int64) {
	for _, m := range p.Manifests {
		n += m.Size
	}
	return n
}
