package mirror

import (
	"errors"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/plan"
)

// sparseSample is a plan with a large image, and two whose indexes are sparse.
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

// A registry that refuses sparse indexes is found out with the smallest one,
// before anything else is sent.
func TestRunFindsOutWhetherSparseIndexesAreTaken(t *testing.T) {
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
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if n := registry.calls["put blob"]; n != 1 {
		t.Errorf("%d blobs were sent, want the one of the smallest image", n)
	}

	// It takes them: everything is copied, each blob once.
	registry.fail = func(string, string, digest.Digest) error { return nil }
	source = m.source()
	if rep := mustRun(t, p, source, registry, Options{Streams: 4}); !rep.Complete() || rep.Copied != 3 {
		t.Errorf("report %+v", rep)
	}
	for _, b := range p.Blobs {
		if n := source.given[b.Digest]; n > 1 {
			t.Errorf("blob %s was read %d times", b.Digest, n)
		}
	}
}

// The source's trouble with the image that is tried is that image's alone.
func TestRunGoesOnWhereTheProbeHasNoContent(t *testing.T) {
	m := sparseSample(t)
	p := m.plan()
	source, registry := m.source(), newMemoryRegistry()
	source.broken[digest.FromString("small")] = errors.New("gone")
	rep := mustRun(t, p, source, registry, Options{})
	if rep.Copied != 2 || len(rep.Failed) != 1 || rep.Failed[0].Source != "src.example.com/org/c:v1" {
		t.Errorf("report %+v, want the others copied", rep)
	}
	if n := registry.calls["put blob"]; n != 3 {
		t.Errorf("%d blobs were asked for, want each once", n)
	}
}

// A layout whose index was not finished has content that nobody finds.
func TestLookWantsNamesInALayout(t *testing.T) {
	m := sample(t)
	p := m.plan()
	l, err := layout.Create(t.TempDir(), layout.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sink := ToLayout(l)
	mustRun(t, p, m.source(), sink, Options{})
	missing, err := Look(t.Context(), p, sink, Options{})
	if err != nil || missing.Images != 6 || missing.Bytes > sum(p) {
		t.Errorf("before the index is written: %+v, %v", missing, err)
	}
	if err := sink.Finish(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if missing, err = Look(t.Context(), p, sink, Options{}); err != nil || missing.Images != 0 || missing.Present != 6 {
		t.Errorf("afterwards: %+v, %v", missing, err)
	}
}

func sum(p *plan.Plan) (n int64) {
	for _, m := range p.Manifests {
		n += m.Size
	}
	return n
}
