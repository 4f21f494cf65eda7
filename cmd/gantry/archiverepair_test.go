package main

import (
	"errors"
	"fmt"
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
	"github.com/gantry-mirror/gantry/pkg/repair"
	"github.com/gantry-mirror/gantry/plan"
)

// request reads a repair request from a file.
func (w *world) request(file string) *repair.Request {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := repair.Read(strings.NewReader(string(text)))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// contentOf is the content of a request.
func contentOf(r *repair.Request) []ocispec.Descriptor {
	var all []ocispec.Descriptor
	for _, c := range r.Content {
		all = append(all, ocispec.Descriptor{Digest: c.Digest, Size: c.Size, MediaType: c.MediaType})
	}
	return all
}

// A blob that was altered and a volume that was lost are asked for, and nothing
// else; with what is sent for that, the archive is whole.
func TestRepairRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{})
	disk, whole, p := w.disk("disk")
	if err := os.CopyFS(w.path("sound"), os.DirFS(w.path("disk"))); err != nil {
		t.Fatal(err)
	}
	info, file := whole.Newest(), w.path("request.json")
	o := w.looked(exitOK, "archive", "repair-request", disk, "-o", file)
	w.says(o.stderr, "nothing to ask for")
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) || o.stdout != "" {
		t.Fatalf("a request for nothing was written: %v", err)
	}

	want := map[digest.Digest]bool{}
	blob := largest(whole, "gantry-000001.0002.tar")
	want[blob.Digest] = true
	w.spoil("disk", blob)
	for e := range whole.Entries() {
		if e.Volume == "gantry-000001.0003.tar" && e.Content {
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
		holders, err := mirror.Holders(p, []digest.Digest{c.Digest})
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
	// On stdout the same bytes.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if o := w.looked(exitMismatch, "archive", "repair-request", disk, "--sequence", "1"); o.stdout != string(text) {
		t.Errorf("stdout has\n%s", o.stdout)
	}

	opts := archive.Options{Repair: &archive.Repair{BaseSet: archive.BaseSet{Sequence: r.Sequence, Set: r.Set}, Plan: r.Plan}}
	sound, err := archive.Open(w.path("sound"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sound.Close() }() // only read from
	mend := w.follow("mend", sound, opts, contentOf(r))
	w.says(w.looked(exitOK, "archive", "repair-request", disk, mend).stderr, "damaged, but nothing is lost", "nothing to ask for")
	w.must("verify", disk, mend)
	w.says(w.looked(exitOK, "archive", "inspect", disk, mend).stdout, "Repair of sequence 1", w.path("mend/gantry-000001-repair.0001.tar"))
	w.looked(exitOK, "archive", "extract", disk, mend, "--to", w.path("layout"))
	wholeLayout(t, w.path("layout"))
	if n := len(listingOf(t, w.path("layout"))); n != len(byName(p)) {
		t.Errorf("%d images came out, want %d", n, len(byName(p)))
	}
}

// From the damage to the mirror: what was spoilt, lost with its volume, and built by
// Gantry itself comes again, and both folders together are mirrored from.
func TestRepairEndToEnd(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *world, have *archive.Archive, p *plan.Plan){
		"blobs": func(w *world, have *archive.Archive, p *plan.Plan) {
			w.spoil("disk", largest(have, "gantry-000001.0002.tar"))
			if err := os.Remove(w.path("disk/gantry-000001.0004.tar")); err != nil {
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
				if lost[e.Digest] && e.Volume != "gantry-000001.0004.tar" && e.Digest != largest(have, "gantry-000001.0002.tar").Digest {
					w.spoil("disk", e)
				}
			}
		},
		"plan": func(w *world, _ *archive.Archive, _ *plan.Plan) {
			if err := os.Remove(w.path("disk/gantry-000001.0001.tar")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, registrytest.Options{})
			disk, have, p := w.disk("disk")
			spoil(w, have, p)
			far := []string{"--workspace", w.path("far")}
			file, mend := w.path("request.json"), fileScheme+w.path("mend")
			w.looked(exitMismatch, "archive", "repair-request", disk, "-o", file)
			if o := w.gantry(append([]string{"mirror", "--from", disk, w.docker("/mended")}, far...)...); o.code != exitMismatch {
				t.Errorf("the damaged archive ended with %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			w.source.ResetLog()
			w.must("mirror", "--repair", file, mend)
			if n, most := w.source.Requests()["GET blob"], len(w.request(file).Content); n > most {
				t.Errorf("%d blobs were read for %d that are wanted", n, most)
			}
			w.looked(exitOK, "archive", "repair-request", disk, mend)
			w.must("verify", disk, mend)
			w.must(append([]string{"mirror", "--from", disk, "--from", mend, w.docker("/mended")}, far...)...)
			o := w.must("verify", "--from", disk, "--from", mend, w.docker("/mended"))
			w.says(o.stdout, fmt.Sprintf("All %d images", len(p.Images)))
			w.verify("mended", acme, 4)
		})
	}
}
