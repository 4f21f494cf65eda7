package airgap

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// damage opens the archive in folders, reads all of it and returns the damage.
func (w *fixture) damage(folders ...string) (*archive.Archive, []archive.Damage) {
	w.t.Helper()
	dirs := elements.Map(folders, w.path)
	have, err := archive.Inspect(dirs...)
	fail.On(w.t, err)
	w.t.Cleanup(func() { _ = have.Close() }) // only read
	err = have.Verify(w.t.Context(), nil)
	var damage *archive.DamageError
	if err != nil && !errors.As(err, &damage) {
		w.t.Fatal(err)
	}
	if damage == nil {
		return have, nil
	}
	return have, damage.Damage
}

// request requests a repair of the damage to the archive in folders.
func (w *fixture) request(chosen bool, folders ...string) (*state.RepairRequest, error) {
	w.t.Helper()
	have, damage := w.damage(folders...)
	return RequestRepair(w.t.Context(), have, damage, chosen, func(sequence int) (*archive.Archive, error) {
		dirs := elements.Map(folders, w.path)
		return archive.InspectWith(archive.OpenOptions{Sequence: sequence}, dirs...)
	})
}

// layerOf returns the digest of a layer: "layer N" for the layer that only image N has, "shared"
// for the layer that all images have.
func layerOf(text string) digest.Digest {
	return digest.FromString(strings.Repeat(text+" ", 300))
}

func wants(r *state.RepairRequest) map[digest.Digest][]string {
	all := map[digest.Digest][]string{}
	for _, c := range r.Content {
		all[c.Digest] = c.Sources
	}
	return all
}

// TestRequestRepair checks which content is requested, and from which set.
func TestRequestRepair(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(3)
	ask := func(chosen bool, folders ...string) *state.RepairRequest {
		t.Helper()
		r, err := w.request(chosen, folders...)
		fail.On(t, err)
		if err := errors.Join(r.Write(io.Discard)); err != nil && len(r.Content) > 0 {
			t.Error(err)
		}
		return r
	}
	if r := ask(false, "disk3", "disk2", "disk1"); len(r.Content) > 0 || r.PlanLost {
		t.Errorf("nothing is lost, and it asks for %+v", r)
	}
	// An earlier set lost a layer that all images need. The request names the images in the plan of
	// that set.
	w.spoil("disk1", content(layerOf("shared")))
	r := ask(false, "disk3", "disk2", "disk1")
	if diff := cmp.Diff(map[digest.Digest][]string{layerOf("shared"): {source(1)}}, wants(r)); diff != "" || r.Sequence != 1 || r.Name != "ops" || r.Set != w.open("disk1").Selected().Set {
		t.Errorf("of sequence %d (-want +got):\n%s", r.Sequence, diff)
	}
	// Two sets are damaged, so one has to be selected.
	w.spoil("disk2", content(layerOf("layer 2"), w.month(2).Images[1].Digest))
	_, err := w.request(false, "disk3", "disk2", "disk1")
	refused(t, err, advice.Input, "run this once with each of Options.Sequence 1, Options.Sequence 2")
	r = ask(false, "disk2")
	want := map[digest.Digest][]string{layerOf("layer 2"): {source(2)}, w.month(2).Images[1].Digest: {source(2)}}
	if diff := cmp.Diff(want, wants(r)); diff != "" || r.Sequence != 2 {
		t.Errorf("of sequence %d (-want +got):\n%s", r.Sequence, diff)
	}
	if r = ask(true, "disk2", "disk1"); r.Sequence != 2 || len(r.Content) != 2 {
		t.Errorf("chosen was 2, and it asks for %d of %d", len(r.Content), r.Sequence)
	}
	// Without the plan, the images are unknown.
	w.spoil("disk2", itsPlan)
	if r = ask(false, "disk2"); !r.PlanLost || len(r.Content) != 2 || len(r.Content[0].Sources) > 0 {
		t.Errorf("without the plan it asks for %+v", r)
	}
}

// TestRequestOfTheNewer checks that content that two sets lost is requested once, from the newer
// set.
func TestRequestOfTheNewer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(1)
	// The site lost the shared layer, so that the next archive contains it again.
	file := w.path("workspace/archives/ops/000001.json")
	r := readBackReceipt(t, file)
	r.Repositories[0].Blobs = slices.DeleteFunc(r.Repositories[0].Blobs, func(b state.Blob) bool { return b.Digest == layerOf("shared") })
	all, err := w.ws.Exports("ops")
	if err == nil {
		err = w.ws.SaveExport("ops", all[0], r.Write)
	}
	fail.On(t, err)
	w.must(w.month(2), "disk2", Since{})
	for _, disk := range []string{"disk1", "disk2"} {
		w.spoil(disk, content(layerOf("shared")))
	}
	request, err := w.request(false, "disk2", "disk1")
	if err != nil || request.Sequence != 2 {
		t.Fatalf("%+v, %v", request, err)
	}
	fail.Diff(t, map[digest.Digest][]string{layerOf("shared"): {source(1), source(2)}}, wants(request))
}

// TestRepair checks that a repair contains the requested content.
func TestRepair(t *testing.T) {
	t.Parallel()
	lost := []digest.Digest{layerOf("shared"), layerOf("layer 1")}
	for name, tc := range map[string]struct {
		plan   bool // whether the plan was lost too
		change func(w *fixture)
		gone   map[digest.Digest]bool
		check  func(t *testing.T, err error)
	}{
		"content":          {false, nil, nil, nil},
		"content and plan": {true, func(w *fixture) { w.savePlan(1) }, nil, nil},
		"another plan": {true, func(w *fixture) { w.savePlan(2) }, nil, func(t *testing.T, err error) {
			refused(t, err, advice.Input, "of sequence 1 was lost, and this workspace has another plan of \"ops\"", "Options.Full")
		}},
		"no plan": {true, nil, nil, func(t *testing.T, err error) {
			refused(t, err, advice.Input, "this workspace has another plan", "Options.Full")
		}},
		"no source": {false, nil, gone(lost[0]), func(t *testing.T, err error) {
			refused(t, err, advice.Partial, "the repair is not finished: no source has 1 blob or manifest; run it again")
			var missed *RepairError
			if errors.As(err, &missed) && (len(missed.Failed) != 1 || missed.Failed[0].Digest != lost[0]) || !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%+v", missed)
			}
		}},
		"no source for both": {false, nil, gone(lost...), func(t *testing.T, err error) {
			refused(t, err, advice.Partial, "no source has 2 blobs and manifests")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.months(1)
			w.spoil("disk1", content(lost...))
			if tc.plan {
				w.spoil("disk1", itsPlan)
			}
			r, err := w.request(false, "disk1")
			if err != nil || len(r.Content) != 2 {
				t.Fatalf("%+v, %v", r, err)
			}
			if tc.change != nil {
				tc.change(w)
			}
			done := int64(-1)
			opts := RepairOptions{Dir: w.path("repair"), Watch: func(count func() int64) func() { return func() { done = count() } }}
			repaired, err := Repair(t.Context(), w.ws, r, memory{w, tc.gone}, opts)
			if tc.check != nil {
				tc.check(t, err)
				return
			}
			if err != nil || repaired.Sequence != 1 || repaired.Content != 2 || repaired.AlreadyPresent || done != 2 {
				t.Fatalf("%+v, %v, %d done", repaired, err, done)
			}
			have, damage := w.damage("disk1", "repair")
			for _, d := range damage {
				if !d.Recoverable {
					t.Errorf("still lost: %s", d)
				}
			}
			_, err = ReadPlan(t.Context(), have)
			fail.On(t, err)
			if repaired, err = Repair(t.Context(), w.ws, r, memory{w, gone(lost...)}, opts); err != nil || !repaired.AlreadyPresent {
				t.Errorf("once more: %+v, %v", repaired, err)
			}
		})
	}
}

// savePlan saves the plan of a month as the most recent one.
func (w *fixture) savePlan(month int) {
	fail.On(w.t, w.ws.SavePlan("ops", w.month(month).Write))
}

// TestRepairGoesOn checks that a repair continues after errors and keeps the fetched content, and
// that it ends at a fatal error.
func TestRepairGoesOn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(1)
	lost := []digest.Digest{layerOf("shared"), layerOf("layer 1")}
	w.spoil("disk1", content(lost...))
	r, err := w.request(false, "disk1")
	fail.On(t, err)
	opts := RepairOptions{Dir: w.path("repair")}
	_, err = Repair(t.Context(), w.ws, r, memory{w, gone(lost[0])}, opts)
	refused(t, err, advice.Partial)
	if _, err = Repair(t.Context(), w.ws, r, memory{w, gone(lost[1])}, opts); err != nil {
		t.Errorf("fetched content is requested again: %v", err)
	}
	opts = RepairOptions{Dir: w.path("other"), Fatal: func(err error) bool { return errors.Is(err, os.ErrNotExist) }}
	_, err = Repair(t.Context(), w.ws, r, memory{w, gone(lost[0])}, opts)
	var missed *RepairError
	if err == nil || errors.As(err, &missed) {
		t.Errorf("a fatal error did not end it: %v", err)
	}
}

func TestReadRequest(t *testing.T) {
	t.Parallel()
	sum := digest.FromString("x")
	r := &state.RepairRequest{Name: "ops", SetRef: state.SetRef{Sequence: 1, Set: sum}, Plan: sum, Encrypted: true, Content: []state.LostContent{{Digest: sum, Size: 1, Sources: []string{"a"}}}}
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		file := filepath.Join(dir, name)
		fail.On(t, os.WriteFile(file, text, 0o600))
		return file
	}
	r.Kind, r.Version = "GantryRepairRequest", 1
	text, err := json.Marshal(r)
	fail.On(t, err)
	sound := write("request.json", text)
	if got, err := ReadRequest(sound, true); err != nil || got.Name != "ops" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = ReadRequest(sound, false)
	refused(t, err, advice.Input, "is encrypted, and its repair would not be", "Options.EncryptTo")
	_, err = ReadRequest(write("other.json", []byte(`{"kind":"Other"}`)), true)
	refused(t, err, advice.Input, "other.json: ")
	_, err = ReadRequest(filepath.Join(dir, "absent"), true)
	refused(t, err, advice.Input, "reading the repair request: ", "no such file")
}

// TestRepairWaits checks that nothing is fetched until Wait returns, and that its error ends the repair.
func TestRepairWaits(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(1)
	lost := []digest.Digest{layerOf("shared"), layerOf("layer 1")}
	w.spoil("disk1", content(lost...))
	r, err := w.request(false, "disk1")
	fail.On(t, err)
	closed := errors.New("closed")
	opts := RepairOptions{Dir: w.path("repair"), Wait: func(context.Context) error { return closed }}
	if _, err := Repair(t.Context(), w.ws, r, memory{w, gone(lost...)}, opts); !errors.Is(err, closed) {
		t.Errorf("%v", err)
	}
	opts.Wait = func(context.Context) error { return nil }
	_, err = Repair(t.Context(), w.ws, r, memory{fixture: w}, opts)
	fail.On(t, err)
}
