package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan"
)

// request reads a repair request from a file.
func (w *fixture) request(file string) *state.RepairRequest {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := state.ReadRepairRequest(strings.NewReader(string(text)))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// contentOf returns the content of a request.
func contentOf(r *state.RepairRequest) []ocispec.Descriptor {
	var all []ocispec.Descriptor
	for _, c := range r.Content {
		all = append(all, ocispec.Descriptor{Digest: c.Digest, Size: c.Size, MediaType: c.MediaType})
	}
	return all
}

// TestRepairRequest checks that the request lists a damaged blob and the content of a lost volume,
// and nothing else. With the repair, the archive is complete.
func TestRepairRequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	disk, whole, p := w.disk("disk")
	if err := os.CopyFS(w.path("sound"), os.DirFS(w.path("disk"))); err != nil {
		t.Fatal(err)
	}
	info, file := whole.Selected(), w.path("request.json")
	o := w.looked(exitOK, "archive", "repair-request", disk, "-o", file)
	w.says(o.stderr, "nothing to request")
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) || o.stdout != "" {
		t.Fatalf("a request for nothing was written: %v", err)
	}

	want := map[digest.Digest]bool{}
	blob := largest(whole, "gantry-000001.0002.tar")
	want[blob.Digest] = true
	w.spoil("disk", blob)
	for e := range whole.Entries() {
		if e.Volume == "gantry-000001.0003.tar" && e.IsContent {
			want[e.Digest] = true
		}
	}
	if err := os.Remove(w.path("disk/gantry-000001.0003.tar")); err != nil {
		t.Fatal(err)
	}
	o = w.looked(exitMismatch, "archive", "repair-request", disk, "-o", file)
	w.says(o.stderr, "gantry mirror --repair", "of sequence 1")
	r := w.request(file)
	got := map[digest.Digest]bool{}
	for _, c := range r.Content {
		got[c.Digest] = true
		holders, err := mirror.ImagesByContent(p, []digest.Digest{c.Digest})
		if err != nil {
			t.Fatal(err)
		}
		sources := map[string]bool{}
		for _, img := range holders[c.Digest] {
			sources[img.Source] = true
		}
		for _, s := range c.Sources {
			if !sources[s] {
				t.Errorf("%s is not in %s", c.Digest, s)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || r.Name != "imageset" || r.Sequence != 1 || r.Set != info.Set || r.Plan != info.Plan || r.PlanLost {
		t.Errorf("%+v: %s", r, diff)
	}
	// The same bytes are written to stdout.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if o := w.looked(exitMismatch, "archive", "repair-request", disk, "--sequence", "1"); o.stdout != string(text) {
		t.Errorf("stdout has\n%s", o.stdout)
	}

	opts := archive.Options{Repair: &archive.Repair{SetRef: r.SetRef, Plan: r.Plan}}
	sound, err := archive.Open(w.path("sound"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sound.Close() }() // only read from
	repair := w.follow("repair", sound, opts, contentOf(r))
	w.says(w.looked(exitOK, "archive", "repair-request", disk, repair).stderr, "damaged, but without loss of content", "nothing to request")
	w.must("verify", disk, repair)
	w.says(w.looked(exitOK, "archive", "inspect", disk, repair).stdout, "Repair of sequence 1", w.path("repair/gantry-000001-repair.0001.tar"))
	w.looked(exitOK, "archive", "extract", disk, repair, "--to", w.path("layout"))
	wholeLayout(t, w.path("layout"))
	if n := len(listingOf(t, w.path("layout"))); n != len(byName(p)) {
		t.Errorf("%d images were extracted, want %d", n, len(byName(p)))
	}
}

// reportsRepair checks what is reported about the last repair: its metrics, summary and status.
func (w *fixture) reportsRepair(result string) {
	w.t.Helper()
	w.says(w.read("repair.prom"), `gantry_run_result{image_set="imageset",destination="`+fileScheme+w.path("repair")+`",result="`+result+`"} 1`, "gantry_repair_requested{", "gantry_run_copied_bytes{")
	if text := w.read("repair.prom"); strings.Contains(text, "gantry_run_images") || strings.Contains(text, "gantry_archive_next_sequence") || strings.Contains(text, "gantry_last_success") != (result == "complete") {
		w.t.Errorf("metrics of a repair that is %s:\n%s", result, text)
	}
	w.says(w.read("repair.md"), ": "+result, "| Repair | sequence 1: ")
	for _, line := range strings.Split(w.must("status").stdout, "\n") {
		if strings.Contains(line, w.path("repair")) && strings.Contains(strings.ToLower(line), "repair of sequence 1, "+result) {
			return
		}
	}
	w.t.Errorf("the status has no repair that is %s:\n%s", result, w.must("status").stdout)
}

// TestRepairEndToEnd repairs damaged content, the content of a lost volume and images that Gantry
// built, and fills the mirror from both folders.
func TestRepairEndToEnd(t *testing.T) {
	t.Parallel()
	long(t)
	for name, spoil := range map[string]func(w *fixture, have *archive.Archive, p *plan.Plan){
		"blobs": func(w *fixture, have *archive.Archive, p *plan.Plan) {
			w.spoil("disk", largest(have, "gantry-000001.0002.tar"))
			if err := os.Remove(w.path("disk/gantry-000001.0003.tar")); err != nil {
				t.Fatal(err)
			}
			built := slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Kind == plan.CatalogImage })
			contents, err := p.Contents()
			if err != nil {
				t.Fatal(err)
			}
			lost := map[digest.Digest]bool{}
			err = contents.Walk(p.Images[built].Digest,
				func(m *plan.Manifest) error { lost[m.Digest] = true; return nil },
				func(b plan.Blob) error { lost[b.Digest] = true; return nil })
			if err != nil {
				t.Fatal(err)
			}
			for e := range have.Entries() {
				if lost[e.Digest] && e.Volume != "gantry-000001.0003.tar" && e.Digest != largest(have, "gantry-000001.0002.tar").Digest {
					w.spoil("disk", e)
				}
			}
		},
		"plan": func(w *fixture, _ *archive.Archive, _ *plan.Plan) {
			if err := os.Remove(w.path("disk/gantry-000001.0001.tar")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, registrytest.Options{})
			disk, have, p := w.disk("disk")
			spoil(w, have, p)
			far := []string{"--workspace", w.path("far")}
			file, repair := w.path("request.json"), fileScheme+w.path("repair")
			w.looked(exitMismatch, "archive", "repair-request", disk, "-o", file)
			if o := w.gantry(append([]string{"mirror", "--from", disk, w.docker("/repaired")}, far...)...); o.code != exitMismatch {
				t.Errorf("the damaged archive ended with %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			w.source.Script(registrytest.Rule{Action: registrytest.Status(http.StatusNotFound)})
			if name != "plan" { // the plan is in the workspace
				o := w.gantry("mirror", "--repair", file, repair, "--metrics-file", w.path("repair.prom"), "--summary", w.path("repair.md"), "--retry-times", "0")
				if o.code == exitOK {
					t.Errorf("a repair without sources ended with 0\n%s", o.stdout)
				}
				w.reportsRepair("failed")
			}
			w.source.Script()
			w.source.ResetLog()
			w.must("mirror", "--repair", file, repair, "--metrics-file", w.path("repair.prom"), "--summary", w.path("repair.md"))
			w.reportsRepair("complete")
			if n, most := w.source.Requests()["GET blob"], len(w.request(file).Content); n > most {
				t.Errorf("%d blobs were read, want at most %d", n, most)
			}
			w.looked(exitOK, "archive", "repair-request", disk, repair)
			w.must("verify", disk, repair)
			w.must(append([]string{"mirror", "--from", disk, "--from", repair, w.docker("/repaired")}, far...)...)
			o := w.must("verify", "--from", disk, "--from", repair, w.docker("/repaired"))
			w.says(o.stdout, fmt.Sprintf("All %d images", len(p.Images)))
			w.verify("repaired", acme, 4)
		})
	}
}
