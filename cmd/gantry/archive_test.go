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
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan"
)

// looked runs a verb that has no workspace.
func (w *world) looked(code int, args ...string) outcome {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	got := (&app{stdout: &stdout, stderr: &stderr, env: w.env}).run(args)
	if got != code {
		w.t.Errorf("gantry %s ended with %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout.String(), stderr.String())
	}
	return outcome{stdout.String(), stderr.String(), got}
}

// says wants words in a text.
func (w *world) says(text string, words ...string) {
	w.t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.t.Errorf("it does not say %q:\n%s", word, text)
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

// disk writes the archive of the world's configuration, in volumes of 2 MB, and
// opens it.
func (w *world) disk(name string, args ...string) (where string, have *archive.Archive, p *plan.Plan) {
	w.t.Helper()
	where = fileScheme + w.path(name)
	w.must(append([]string{"mirror", "-c", w.path("imageset.yaml"), where, "--volume-size", "2MB"}, args...)...)
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

// planText is the plan of an archive as it was written.
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

// follow writes a set with content of another archive to a folder: what builds on
// it, or repairs it.
func (w *world) follow(name string, have *archive.Archive, opts archive.Options, content []ocispec.Descriptor) string {
	w.t.Helper()
	text := planText(w.t, have)
	c := archive.Content{Name: have.Newest().Series, Entries: slices.Values(content), Plan: func(to io.Writer) error { _, err := to.Write(text); return err }}
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

// largest is the largest content that lies in one piece in a volume.
func largest(have *archive.Archive, volume string) (found archive.EntryInfo) {
	for e := range have.Entries() {
		if e.Volume == volume && e.Content && e.Parts == 0 && e.Size > found.Size {
			found = e
		}
	}
	return found
}

// spoil alters a byte of an entry in a volume of the folder.
func (w *world) spoil(folder string, e archive.EntryInfo) {
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
	w := newWorld(t, registrytest.Options{})
	_, key, fingerprint := w.sshKey("ops", "")
	disk, have, p := w.disk("disk", "--sign-key", key)
	info := have.Newest()
	o := w.looked(exitOK, "archive", "inspect", disk, "--verify-key", key+".pub")
	w.says(o.stdout, `1 of "imageset"`, info.Set.String(), "ops@example.com", fingerprint, "gantry-000001.0002.tar", w.path("disk/gantry-000001.0002.tar"),
		have.PlanDigest().String(), "becomes acme/operator-index:v4.20", "\n  lantern\n")
	if strings.Contains(o.stdout, "Missing") || strings.Contains(o.stdout, "Also in the folder") {
		t.Errorf("a whole archive:\n%s", o.stdout)
	}
	got := decoded[inspected](t, w.looked(exitOK, "archive", "inspect", disk, "-o", "json").stdout)
	if got.Sequence != 1 || got.Set != info.Set || got.Name != "imageset" || len(got.Sets) != 1 || got.Missing != 0 || got.Signature == nil || got.Signature.Key != fingerprint {
		t.Errorf("%+v", got)
	}
	if s := got.Sets[0]; len(s.Volumes) != len(info.Volumes) || s.Content != info.Content || s.Bytes != info.ContentBytes || s.VolumeSize != 2_000_000/512*512 {
		t.Errorf("%+v, want what is in %+v", s, info)
	}
	if got.Plan == nil || got.Plan.Totals != p.Totals || len(got.Plan.Catalogs) != len(p.Catalogs) || got.Plan.Images[plan.CatalogImage] != len(p.Catalogs) {
		t.Errorf("%+v", got.Plan)
	}

	// A volume on another medium, and one that is nowhere.
	if err := errors.Join(os.Mkdir(w.path("second"), 0o755), os.Rename(w.path("disk/gantry-000001.0002.tar"), w.path("second/renamed")), os.Remove(w.path("disk/gantry-000001.0003.tar"))); err != nil {
		t.Fatal(err)
	}
	o = w.looked(exitOK, "archive", "inspect", disk, fileScheme+w.path("second"))
	w.says(o.stdout, w.path("second/renamed"), "Missing\n")
	got = decoded[inspected](t, w.looked(exitOK, "archive", "inspect", disk, "-o", "json").stdout)
	if got.Missing != 2 || got.Sets[0].Volumes[1].Path != "" || got.Sets[0].Volumes[1].Problem != "missing" {
		t.Errorf("%+v", got)
	}
	// Without the plan.
	if err := os.Rename(w.path("disk/gantry-000001.0001.tar"), w.path("second/gantry-000001.0001.tar")); err != nil {
		t.Fatal(err)
	}
	w.says(w.looked(exitOK, "archive", "inspect", disk).stdout, "The plan cannot be read", "gantry-000001.0001.tar")
}

// Sets that build on others, and others beside them.
func TestArchiveInspectChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{})
	disk, have, p := w.disk("disk")
	info := have.Newest()
	base := &archive.Base{Sets: []archive.BaseSet{info.BaseSet}, Holds: func(digest.Digest) bool { return true }, Plan: info.Plan}
	next := w.follow("next", have, archive.Options{Base: base}, slices.Collect(mirror.Content(p)))
	o := w.looked(exitOK, "archive", "inspect", next)
	w.says(o.stdout, "Sequence 2\n", "builds on sequence 1", "Sequence 1, which it builds on, is not here: "+info.Set.String(), "format features: builds-on", "plan of an earlier archive")
	w.refuseLook(exitUsage, []string{"name the folder of gantry-000001"}, "archive", "list", next)
	o = w.looked(exitOK, "archive", "inspect", next, disk)
	w.says(o.stdout, "Sequence 2\n", "\nSequence 1\n", "becomes acme/operator-index:v4.20")
	o = w.looked(exitOK, "archive", "inspect", next, disk, "--sequence", "1")
	w.says(o.stdout, `1 of "imageset"`, "Also in the folder, and looked into with --sequence: 2")

	// Of all images, but for one manifest, the content is in the absent set.
	keep := p.Images[0].Digest
	part := &archive.Base{Sets: []archive.BaseSet{info.BaseSet}, Holds: func(d digest.Digest) bool { return d != keep }}
	third := w.follow("third", have, archive.Options{Base: part}, slices.Collect(mirror.Content(p)))
	got := decoded[listedImages](t, w.looked(exitOK, "archive", "list", third, "-o", "json").stdout)
	for _, x := range got.Images {
		if x.Here != imageEarlier {
			t.Errorf("%s is said to be here: %q", x.Name, x.Here)
		}
	}
	got = decoded[listedImages](t, w.looked(exitOK, "archive", "list", third, disk, "-o", "json").stdout)
	for _, x := range got.Images {
		if x.Here != imageHere {
			t.Errorf("with both folders, %s is here: %q", x.Name, x.Here)
		}
	}
}

// What cannot be looked into says why, and ends with the right status.
func TestArchiveRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{})
	disk, _, _ := w.disk("disk")
	_, key, _ := w.sshKey("ops", "")
	empty := t.TempDir()
	volumes := t.TempDir()
	if err := os.CopyFS(volumes, os.DirFS(w.path("disk"))); err != nil {
		t.Fatal(err)
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
			{exitUsage, []string{"there is none", "name the folder that has it"}, []string{fileScheme + empty}},
			{exitUsage, []string{"no such file", "check the path, and that the medium is mounted"}, []string{fileScheme + w.path("absent")}},
			{exitUsage, []string{"name the folder that it lies in"}, []string{fileScheme + w.path("disk/gantry-000001.json")}},
			{exitUsage, []string{"bring gantry-000001.json too"}, []string{fileScheme + volumes}},
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
	w.refuseLook(exitUsage, []string{"no two archives"}, "archive", "diff", disk)
	w.refuseLook(exitUsage, []string{"OLD,NEW"}, "archive", "diff", disk, "--sequence", "1")
	w.refuseLook(exitUsage, []string{"--to DIR"}, "archive", "extract", disk)
	w.refuseLook(exitUsage, []string{"give it whole"}, "archive", "extract", disk, "--digest", "sha256:12")
	w.refuseLook(exitUsage, []string{"give one of"}, "archive", "extract", disk, "--digest", digest.FromString("x").String(), "--image", "x")
	w.refuseLook(exitUsage, []string{"has no sha256:"}, "archive", "extract", disk, "--digest", digest.FromString("x").String())
	w.refuseLook(exitUsage, []string{`no image "acme/operator-idnex:v4.20"`, `did you mean "acme/operator-index:v4.20"?`}, "archive", "extract", disk, "--to", w.path("out"), "--image", "acme/operator-idnex:v4.20")
	if _, err := os.Stat(w.path("out")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was made for nothing: %v", err)
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
		w.refuseLook(exitMismatch, []string{"gantry-000001.json", "bring the files that are named again"}, args...)
	}
	if _, err := os.Stat(w.path("request.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a request was written: %v", err)
	}
}

// refuseLook is refuse for verbs without a workspace, which print nothing then.
func (w *world) refuseLook(code int, words []string, args ...string) {
	w.t.Helper()
	o := w.looked(code, args...)
	w.says(o.stderr, words...)
	if o.stdout != "" {
		w.t.Errorf("gantry %s printed\n%s", strings.Join(args, " "), o.stdout)
	}
}
