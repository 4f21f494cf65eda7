package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan"
)

// looked runs a command that uses no workspace and checks its exit status.
func (w *fixture) looked(code int, args ...string) outcome {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	got := (&app{stdout: &stdout, stderr: &stderr, env: w.env}).run(args)
	w.checkOutput(args, stdout.Bytes())
	if got != code {
		w.t.Errorf("gantry %s ended with %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout.String(), stderr.String())
	}
	return outcome{stdout.String(), stderr.String(), got}
}

// says checks that a text contains words.
func (w *fixture) says(text string, words ...string) {
	w.t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.t.Errorf("the output does not contain %q:\n%s", word, text)
		}
	}
}

// decoded reads JSON that the program printed.
func decoded[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v:\n%.2000s", err, text)
	}
	return v
}

// disk writes an archive of the fixture's configuration, with volumes of half a megabyte, and opens it.
func (w *fixture) disk(name string, args ...string) (where string, have *archive.Archive, p *plan.Plan) {
	w.t.Helper()
	where = fileScheme + w.path(name)
	w.must(append([]string{"mirror", "-c", w.path("imageset.yaml"), where, "--volume-size", "0.5MB"}, args...)...)
	have, err := archive.Open(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = have.Close() }) // only read from
	if p, err = archivePlan(w.t.Context(), have); err != nil {
		w.t.Fatal(err)
	}
	return where, have, p
}

// planText returns the plan of an archive as it was written.
func planText(t testing.TB, have *archive.Archive) []byte {
	t.Helper()
	text, err := have.OpenPlan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(text)
	if err := errors.Join(err, text.Close()); err != nil {
		t.Fatal(err)
	}
	return raw
}

// follow writes to a folder a set that builds on another archive or repairs it.
func (w *fixture) follow(name string, have *archive.Archive, opts archive.Options, content []ocispec.Descriptor) string {
	w.t.Helper()
	text := planText(w.t, have)
	c := archive.Content{Name: have.Selected().Series, Entries: slices.Values(content), Plan: func(to io.Writer) error { _, err := to.Write(text); return err }}
	writer, err := archive.Create(w.t.Context(), w.path(name), c, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, desc := range content {
		open := func(ctx context.Context, offset int64) (io.ReadCloser, error) {
			return have.Blob(ctx, "", desc, offset)
		}
		if err := writer.PutBlob(w.t.Context(), "", desc, open); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := errors.Join(writer.Finish(w.t.Context()), writer.Close()); err != nil {
		w.t.Fatal(err)
	}
	return fileScheme + w.path(name)
}

// largest returns the largest blob or manifest that is in the volume in one part.
func largest(have *archive.Archive, volume string) (found archive.EntryInfo) {
	for e := range have.Entries() {
		if e.Volume == volume && e.IsContent && e.Parts == 0 && e.Size > found.Size {
			found = e
		}
	}
	return found
}

// spoil changes a byte of an entry in a volume of the folder.
func (w *fixture) spoil(folder string, e archive.EntryInfo) {
	w.t.Helper()
	f, err := os.OpenFile(filepath.Join(w.path(folder), e.Volume), os.O_RDWR, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	var b [1]byte
	at := e.Offset + e.Size/2
	_, err = f.ReadAt(b[:], at)
	b[0] ^= 1
	_, writeErr := f.WriteAt(b[:], at)
	if err := errors.Join(err, writeErr, f.Close()); err != nil {
		w.t.Fatal(err)
	}
}

func TestArchiveInspect(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	_, key, fingerprint := w.sshKey("ops", "")
	disk, have, p := w.disk("disk", "--sign-key", key)
	info := have.Selected()
	o := w.looked(exitOK, "archive", "inspect", disk, "--verify-key", key+".pub")
	w.says(o.stdout, `1 of "imageset"`, info.Set.String(), "ops@example.com", fingerprint, "gantry-000001.0002.tar", w.path("disk/gantry-000001.0002.tar"),
		have.PlanDigest().String(), "becomes acme/operator-index:v4.20", "\n  lantern\n")
	if strings.Contains(o.stdout, "Missing") || strings.Contains(o.stdout, "Other archives in the folder") {
		t.Errorf("a whole archive:\n%s", o.stdout)
	}
	got := decoded[inspect.Inspection](t, w.looked(exitOK, "archive", "inspect", disk, "-o", "json").stdout)
	if got.Sequence != 1 || got.Set != info.Set || got.Name != "imageset" || len(got.Sets) != 1 || got.Missing != 0 || got.Signature == nil || got.Signature.Key != fingerprint {
		t.Errorf("%+v", got)
	}
	if s := got.Sets[0]; len(s.Volumes) != len(info.Volumes) || s.Content != info.Content || s.Bytes != info.ContentBytes || s.VolumeSize != 500_000/512*512 {
		t.Errorf("%+v, want what is in %+v", s, info)
	}
	if got.Plan == nil || got.Plan.Totals != p.Totals || len(got.Plan.Catalogs) != len(p.Catalogs) || got.Plan.Images[plan.CatalogImage] != len(p.Catalogs) {
		t.Errorf("%+v", got.Plan)
	}

	// One volume is on another disk, and one is missing.
	if err := errors.Join(os.Mkdir(w.path("second"), 0o755), os.Rename(w.path("disk/gantry-000001.0002.tar"), w.path("second/renamed")), os.Remove(w.path("disk/gantry-000001.0003.tar"))); err != nil {
		t.Fatal(err)
	}
	o = w.looked(exitOK, "archive", "inspect", disk, fileScheme+w.path("second"))
	w.says(o.stdout, w.path("second/renamed"), "Missing\n")
	got = decoded[inspect.Inspection](t, w.looked(exitOK, "archive", "inspect", disk, "-o", "json").stdout)
	if got.Missing != 2 || got.Sets[0].Volumes[1].Path != "" || got.Sets[0].Volumes[1].Problem != "missing" {
		t.Errorf("%+v", got)
	}
	// The volume with the plan is missing.
	if err := os.Rename(w.path("disk/gantry-000001.0001.tar"), w.path("second/gantry-000001.0001.tar")); err != nil {
		t.Fatal(err)
	}
	w.says(w.looked(exitOK, "archive", "inspect", disk).stdout, "The plan cannot be read", "gantry-000001.0001.tar")
}

// TestArchiveInspectChain checks sets that build on others, and other sets in the same folder.
func TestArchiveInspectChain(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	disk, have, p := w.disk("disk")
	info := have.Selected()
	base := &archive.Base{Sets: []state.SetRef{info.SetRef}, Has: func(digest.Digest) bool { return true }, Plan: info.Plan}
	next := w.follow("next", have, archive.Options{Base: base}, slices.Collect(mirror.Content(p)))
	o := w.looked(exitOK, "archive", "inspect", next)
	w.says(o.stdout, "Sequence 2\n", "builds on sequence 1", "Sequence 1, which it builds on, is missing: "+info.Set.String(), "format features: builds-on", "it is in an earlier archive")
	w.refuseLook(exitUsage, []string{"name the folder of gantry-000001"}, "archive", "list", next)
	o = w.looked(exitOK, "archive", "inspect", next, disk)
	w.says(o.stdout, "Sequence 2\n", "\nSequence 1\n", "becomes acme/operator-index:v4.20")
	o = w.looked(exitOK, "archive", "inspect", next, disk, "--sequence", "1")
	w.says(o.stdout, `1 of "imageset"`, "Other archives in the folder, which --sequence selects: 2")

	// Except for one manifest, the content of all images is in the missing set.
	keep := p.Images[0].Digest
	part := &archive.Base{Sets: []state.SetRef{info.SetRef}, Has: func(d digest.Digest) bool { return d != keep }}
	third := w.follow("third", have, archive.Options{Base: part}, slices.Collect(mirror.Content(p)))
	got := decoded[inspect.ArchiveImages](t, w.looked(exitOK, "archive", "list", third, "-o", "json").stdout)
	for _, x := range got.Images {
		if x.Here != airgap.InEarlier {
			t.Errorf("%s is listed as present: %q", x.Name, x.Here)
		}
	}
	got = decoded[inspect.ArchiveImages](t, w.looked(exitOK, "archive", "list", third, disk, "-o", "json").stdout)
	for _, x := range got.Images {
		if x.Here != airgap.Available {
			t.Errorf("with both folders, %s is here: %q", x.Name, x.Here)
		}
	}
}

// TestArchiveRefuses checks the message and the exit status for archives that cannot be opened.
func TestArchiveRefuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	disk, _, _ := w.disk("disk")
	_, key, _ := w.sshKey("ops", "")
	empty := t.TempDir()
	volumes := t.TempDir()
	if err := os.CopyFS(volumes, os.DirFS(w.path("disk"))); err != nil {
		t.Fatal(err)
	}
	tars, err := filepath.Glob(filepath.Join(volumes, "*.tar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tars {
		if err := os.Truncate(name, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(volumes, "gantry-000001.json")); err != nil {
		t.Fatal(err)
	}
	verbs := [][]string{{"inspect"}, {"list"}, {"list", "--blobs"}, {"extract", "--to", w.path("out")}, {"repair-request", "-o", w.path("request.json")}, {"diff"}}
	for _, verb := range verbs {
		for _, tc := range []struct {
			code  int
			words []string
			args  []string
		}{
			{exitUsage, []string{"file://DIR"}, []string{w.path("disk")}},
			{exitUsage, []string{"file://DIR"}, []string{fileScheme}},
			{exitUsage, []string{"there is none", "name the folder that has them"}, []string{fileScheme + empty}},
			{exitUsage, []string{"no such file", "check the path, and that the disk is mounted"}, []string{fileScheme + w.path("absent")}},
			{exitUsage, []string{"name the folder that it lies in"}, []string{fileScheme + w.path("disk/gantry-000001.json")}},
			{exitUsage, []string{"neither that nor volumes with a label", "copy the volumes again"}, []string{fileScheme + volumes}},
			{exitMismatch, []string{"not signed"}, []string{disk, "--verify-key", key + ".pub"}},
		} {
			if verb[0] == "diff" {
				tc.args = append([]string{disk}, tc.args...)
			}
			w.refuseLook(tc.code, tc.words, append(append([]string{"archive"}, verb...), tc.args...)...)
		}
		if verb[0] != "diff" {
			w.refuseLook(exitUsage, []string{"gantry-000007.json"}, append(append([]string{"archive"}, verb...), disk, "--sequence", "7")...)
			w.refuseLook(exitUsage, []string{"--sequence -1"}, append(append([]string{"archive"}, verb...), disk, "--sequence", "-1")...)
		}
	}
	w.refuseLook(exitUsage, []string{"has only one archive"}, "archive", "diff", disk)
	w.refuseLook(exitUsage, []string{"OLD,NEW"}, "archive", "diff", disk, "--sequence", "1")
	w.refuseLook(exitUsage, []string{"name a folder with --to"}, "archive", "extract", disk)
	w.refuseLook(exitUsage, []string{"give the complete digest"}, "archive", "extract", disk, "--digest", "sha256:12")
	w.refuseLook(exitUsage, []string{"give one of"}, "archive", "extract", disk, "--digest", digest.FromString("x").String(), "--image", "x")
	w.refuseLook(exitUsage, []string{"has no sha256:"}, "archive", "extract", disk, "--digest", digest.FromString("x").String())
	w.refuseLook(exitUsage, []string{`no image "acme/operator-idnex:v4.20"`, `did you mean "acme/operator-index:v4.20"?`}, "archive", "extract", disk, "--to", w.path("out"), "--image", "acme/operator-idnex:v4.20")
	if _, err := os.Stat(w.path("out")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was created: %v", err)
	}
	manifest := w.path("disk/gantry-000001.json")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(manifest, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range verbs {
		args := append(append([]string{"archive"}, verb...), disk)
		if verb[0] == "diff" {
			args = append(args, disk)
		}
		w.refuseLook(exitMismatch, []string{"gantry-000001.json", "copy these files again"}, args...)
	}
	if _, err := os.Stat(w.path("request.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a request was written: %v", err)
	}
}

// refuseLook is refuse for verbs without a workspace. They print nothing to stdout.
func (w *fixture) refuseLook(code int, words []string, args ...string) {
	w.t.Helper()
	o := w.looked(code, args...)
	w.says(o.stderr, words...)
	if o.stdout != "" {
		w.t.Errorf("gantry %s printed\n%s", strings.Join(args, " "), o.stdout)
	}
}
