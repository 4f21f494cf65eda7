package setrecord

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

func announce(t *testing.T, m *memory, name, plan string, current *Revision) *Pending {
	t.Helper()
	run := Pending{Name: name, Since: time.Unix(1700000000, 0).UTC(), Host: "h", MaxNestedPaths: 2}
	if current != nil {
		run.Runs = current.Runs
	}
	got, err := Announce(t.Context(), m, store{}, run, current, func(w io.Writer) error {
		_, err := io.WriteString(w, plan)
		return err
	})
	fail.On(t, err)
	return got
}

// TestPending checks what a run writes before it pushes: it is read back in both forms, is no image set for versions that
// do not know it, and is not written for the plan of the current revision.
func TestPending(t *testing.T) {
	for _, docker := range []bool{false, true} {
		m := newMemory()
		m.docker = docker
		if all, err := AllPending(t.Context(), m); err != nil || len(all) > 0 {
			t.Fatal(all, err)
		}
		first := announce(t, m, "two words", "plan 1", nil)
		revision := write(t, m, "two words", nil, record("a"), "plan 1")
		second := announce(t, m, "two words", "plan 2", revision)
		if second.Runs != 1 || first.Tag() == second.Tag() || first.Tag() == announce(t, m, "x", "plan 1", nil).Tag() {
			t.Errorf("%+v %+v", first, second)
		}
		m.requests = 0
		revision.MaxNestedPaths = 2
		if got := announce(t, m, "two words", "plan 1", revision); got != nil || m.requests != 0 {
			t.Errorf("%+v after %d requests", got, m.requests)
		}
		sets, err := List(t.Context(), m)
		if err != nil || len(sets) != 1 || !sets[0].Has(revision) && sets[0].Tag != Tag("two words") {
			t.Errorf("%+v, %v", sets, err)
		}
		all, err := AllPending(t.Context(), m)
		if err != nil || len(all) != 3 {
			t.Fatalf("%+v, %v", all, err)
		}
		for i := range all {
			if want := digest.FromBytes(m.tags[all[i].Tag()]); all[i].Manifest != want {
				t.Errorf("%s and not %s", all[i].Manifest, want)
			}
			if all[i].Tag() == second.Tag() {
				second.Manifest = all[i].Manifest // PutManifest of the test returns it, too
				fail.Diff(t, *second, all[i])
				fail.Diff(t, "plan 2", readPlan(t, m, all[i].Revision()))
			}
		}
		m.tags[first.Tag()] = m.tags[second.Tag()]
		if _, err := AllPending(t.Context(), m); err == nil || !strings.Contains(err.Error(), first.Tag()) {
			t.Errorf("%v", err)
		}
	}
}

// FuzzPending checks that a manifest of a pending run that is accepted is written and read back equal.
func FuzzPending(f *testing.F) {
	p := &Pending{
		Name: "one", Runs: 40, Since: time.Unix(1700000000, 0).UTC(), Host: "h", User: "ü", Version: "v1", Plan: digest.FromString("p"), MaxNestedPaths: 3,
		PlanLayer: ocispec.Descriptor{MediaType: PlanType, Digest: digest.FromString("l"), Size: 10},
	}
	raw, err := p.manifest()
	fail.On(f, err)
	docker, _, err := manifest.DockerArtifact(raw)
	fail.On(f, err)
	f.Add(raw)
	f.Add(docker)
	f.Add(bytes.Replace(raw, []byte(`"40"`), []byte(`"-1"`), 1))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := parsePending(raw)
		if err != nil {
			return
		}
		again, err := p.manifest()
		fail.On(t, err)
		got, err := parsePending(again)
		fail.On(t, err)
		got.Manifest = p.Manifest
		fail.Diff(t, p, got)
	})
}
