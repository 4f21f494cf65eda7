package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/rebuild"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
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

// TestArchiveOutput checks what the verbs of gantry archive print, and their exit statuses.
func TestArchiveOutput(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	_, key, fingerprint := w.sshKey("ops", "")
	disk, have, p := w.disk("disk", "--sign-key", key, "--redundancy", "10%")
	info := have.Selected()
	second := info.Volumes[1].Name
	w.says(w.looked(exitOK, "archive", "inspect", disk, "--verify-key", key+".pub").stdout, `1 of "imageset"`, info.Set.String(), "ops@example.com", fingerprint,
		w.path("disk/"+second), have.PlanDigest().String(), "becomes acme/operator-index:v4.20", "\n  lantern\n")
	if got := decoded[inspect.Inspection](t, w.looked(exitOK, "archive", "inspect", disk, "-o", "json").stdout); got.Signature == nil || got.Signature.Key != fingerprint {
		t.Errorf("%+v", got)
	}
	names := 0
	for _, img := range p.Images {
		names += len(img.Names())
	}
	if text := w.looked(exitOK, "archive", "list", disk).stdout; strings.Count(text, "\n") != names+1 {
		t.Errorf("lines for %d names:\n%s", names, text)
	}
	if got := decoded[inspect.ArchiveImages](t, w.looked(exitOK, "archive", "list", disk, "-o", "json", "--filter", "acme/operator-inde?:v4.20").stdout); len(got.Images) != 1 {
		t.Errorf("%+v", got)
	}
	to := w.path("layout")
	w.says(w.looked(exitOK, "archive", "extract", disk, "--to", to, "--image", "acme/operator-index:v4.20").stdout, "Extracted 1 image to oci://"+to)
	if got := decoded[extract.Extracted](t, w.looked(exitOK, "archive", "extract", disk, "--to", to, "--output", "json").stdout); len(got.Images) != names {
		t.Errorf("%+v", got)
	}
	w.says(w.looked(exitOK, "archive", "extract", disk, "--to", to).stdout, "Nothing to extract")
	for _, args := range [][]string{nil, {"--to", "-"}} {
		if text := w.looked(exitOK, append([]string{"archive", "extract", disk, "--digest", have.PlanDigest().String()}, args...)...).stdout; digest.FromString(text) != have.PlanDigest() {
			t.Errorf("%v: %d bytes", args, len(text))
		}
	}
	w.says(w.looked(exitOK, "archive", "repair-request", disk).stderr, "nothing to request")
	w.says(w.looked(exitOK, "archive", "rebuild", disk).stdout, "nothing was rebuilt")

	// With another archive, which has a blob in parts.
	small := fileScheme + w.path("small")
	w.must("mirror", "-c", w.config("store.yaml", storeOnly), small, "--volume-size", "0.07MB", "--name", "imageset", "--full")
	w.says(w.looked(exitOK, "archive", "list", small, "--blobs").stdout, "blob, part 1 of 2")
	w.says(w.looked(exitOK, "archive", "diff", disk, disk).stdout, "No difference")
	if o := w.looked(exitSomething, "archive", "diff", disk, small); o.stderr != "" {
		t.Errorf("a difference is no error: %s", o.stderr)
	} else {
		w.says(o.stdout, "Removed: ", "  acme/", "New content: ", "... and ")
	}
	if d := decoded[inspect.ArchiveDifference](t, w.looked(exitSomething, "archive", "diff", small, disk, "-o", "json").stdout); len(d.Added) == 0 {
		t.Errorf("%+v", d)
	}

	// With damage.
	blob := largest(have, second)
	w.spoil("disk", blob)
	w.says(w.looked(exitMismatch, "archive", "extract", disk, "--to", w.path("damaged")).stderr, "not extracted", second, "repair-request")
	w.says(w.looked(exitMismatch, "archive", "repair-request", disk, "-o", w.path("request.json")).stderr, "gantry mirror --repair", "1 manifest or blob", "of sequence 1")
	if o := w.looked(exitMismatch, "archive", "repair-request", disk); o.stdout != w.read("request.json") {
		t.Errorf("stdout has\n%s", o.stdout)
	}
	w.says(w.must("mirror", "--repair", w.path("request.json"), fileScheme+w.path("repair")).stdout, "Repair of sequence 1", "1 manifest or blob")
	w.says(w.looked(exitOK, "archive", "repair-request", disk, fileScheme+w.path("repair")).stderr, "damaged, but without loss of content", "nothing to request")
	w.says(w.looked(exitOK, "archive", "inspect", disk, fileScheme+w.path("repair")).stdout, "Repair of sequence 1")
	w.says(w.gantry("verify", disk).stdout, blob.Digest.Encoded(), "    breaks\n")
	w.says(w.looked(exitOK, "archive", "rebuild", disk, "--to", w.path("to")).stdout, "Rebuilt 1 volume", second)
	if got := decoded[rebuild.Result](t, w.looked(exitOK, "archive", "rebuild", disk, "--output", "json").stdout); len(got.Volumes) != 1 {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(w.path("disk/gantry-000001.0001.tar")); err != nil {
		t.Fatal(err)
	}
	w.says(w.looked(exitOK, "archive", "inspect", disk).stdout, "Missing\n", "The plan cannot be read", "gantry-000001.0001.tar")
}

// TestArchiveFlags checks flags that contradict each other or name nothing, and that errors name flags.
func TestArchiveFlags(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	w.surroundings("", "")
	disk, isc := fileScheme+w.path("disk"), w.config("imageset.yaml", storeOnly)
	request := w.write("request.json", "{}")
	for words, args := range map[string][]string{
		"name a folder with --to":                      {"archive", "extract", disk},
		"give the complete digest":                     {"archive", "extract", disk, "--digest", "sha256:12"},
		"give one of":                                  {"archive", "extract", disk, "--digest", digest.FromString("x").String(), "--image", "x"},
		"--file and --force are for --files":           {"archive", "extract", disk, "--to", "x", "--force"},
		"--files excludes --to":                        {"archive", "extract", disk, "--to", "x", "--files", "y"},
		"--sequence -1":                                {"archive", "list", disk, "--sequence", "-1"},
		"OLD,NEW":                                      {"archive", "diff", disk, "--sequence", "1"},
		"--base 2999-01-01 is in the future":           {"mirror", "-c", isc, disk, "--since", "2999-01-01"},
		"--since and --full":                           {"mirror", "-c", isc, disk, "--since", "1", "--full"},
		"--since is empty":                             {"mirror", "-c", isc, disk, "--since", ""},
		"--receipt is empty":                           {"mirror", "-c", isc, disk, "--receipt="},
		"--base none is for file://":                   {"mirror", "-c", isc, "docker://registry.invalid", "--full"},
		"--write-receipt is for --from":                {"mirror", "-c", isc, "docker://registry.invalid", "--write-receipt", w.path("r.json")},
		"--gate-plan":                                  {"mirror", "--repair", request, disk, "--gate-plan", "/bin/true"},
		"--repair writes an archive":                   {"mirror", "--repair", request, "docker://registry.invalid"},
		"without them":                                 {"mirror", "--repair", request, "-c", isc, disk},
		"--volume-size":                                {"mirror", "-c", isc, disk, "--volume-size", "floppy"},
		"each of its folders":                          {"verify", disk, "docker://registry.invalid"},
		"check the path":                               {"mirror", "--from", disk + ",/x", "docker://registry.invalid"},
		"check the path, and that the disk is mounted": {"archive", "inspect", disk},
	} {
		if args[0] == "mirror" || args[0] == "verify" {
			w.refuse(exitUsage, []string{words}, args...)
		} else {
			w.refuseLook(exitUsage, []string{words}, args...)
		}
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
