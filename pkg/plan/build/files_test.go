package build

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
)

// downloads has files by address and path. Those whose path ends in ".sh" are programs.
type downloads map[string]string

func (d downloads) FileSize(_ context.Context, address string, _ digest.Digest) (int64, error) {
	text, ok := d[address]
	switch {
	case strings.HasSuffix(address, "/huge"):
		return fileartifact.MaxSize + 1, nil
	case strings.HasSuffix(address, "/empty"):
		return 0, nil
	case !ok:
		return 0, fmt.Errorf("reading %s: %w", address, fs.ErrNotExist)
	}
	return int64(len(text)), nil
}

func (d downloads) LocalFile(_ context.Context, path string) (digest.Digest, int64, fs.FileMode, error) {
	text, ok := d[path]
	if !ok {
		return "", 0, 0, fs.ErrNotExist
	}
	mode := fs.FileMode(0o644)
	if strings.HasSuffix(path, ".sh") {
		mode = 0o755
	}
	return digest.FromString(text), int64(len(text)), mode, nil
}

func planFiles(t *testing.T, text string) (*plan.Plan, error) {
	w := newFixture(t)
	w.push("quay.io/org/a:1", w.image("a"))
	from := w.sources()
	from.Downloads = downloads{"https://example.com/pub/live.iso": "disk", "tools/run.sh": "#!/bin/sh\n", "note.txt": "read me"}
	return Plan(t.Context(), parseConfig(t, text), "imageset", from, Options{})
}

const filesConfig = `
  files:
  - url: HTTPS://example.com/pub/live.iso
    sha256: DIGEST
  - path: tools/run.sh
  - path: note.txt
    target: docs/READ ME.txt
  - path: note.txt
    target: docs/again.txt
`

func TestPlanFiles(t *testing.T) {
	text := strings.Replace(filesConfig, "DIGEST", digest.FromString("disk").Encoded(), 1)
	p, err := planFiles(t, text)
	fail.On(t, err)
	type file struct {
		Name, Source string
		Size         int64
		Executable   bool
		Tag          string
	}
	got := elements.Map(p.Files, func(f plan.File) file { return file{f.Name, f.Source, f.Size, f.Executable, f.Tag} })
	want := []file{
		{"docs/READ ME.txt", "file+local:note.txt", 7, false, fileartifact.Tag("docs/READ ME.txt")},
		{"docs/again.txt", "file+local:note.txt", 7, false, fileartifact.Tag("docs/again.txt")},
		{"live.iso", "file+https://example.com/pub/live.iso", 4, false, "live.iso"},
		{"run.sh", "file+local:tools/run.sh", 10, true, "run.sh"},
	}
	fail.Diff(t, want, got)
	for _, img := range p.Images {
		if img.Kind != plan.FileImage || img.Repository != "gantry/files" || len(img.Tags) != 2 {
			t.Errorf("%s %s becomes %s with the tags %v", img.Kind, img.Source, img.Repository, img.Tags)
		}
	}
	// The content is a blob, not in the store, and the empty config is shared.
	if len(p.Blobs) != 4 || !slices.Contains(p.Blobs, plan.Blob{Digest: digest.FromString("disk"), Size: 4}) {
		t.Errorf("blobs %v", p.Blobs)
	}
	read := reread(t, p)
	for _, name := range []string{"live.iso", "docs/READ ME.txt"} {
		if e := read.Explain(name); len(e.Images) != 1 || e.Images[0].File != name || !slices.Equal(e.Images[0].Lists, []string{"files"}) {
			t.Errorf("explaining %s: %+v", name, e)
		}
	}
	read.Files[1].Name = strings.ToUpper(read.Files[0].Name) + "/x"
	says(t, read.Check(), "cannot be a file, because it is the folder of")
	lost, err := p.Without([]plan.FailedImage{{Source: "file+local:tools/run.sh", Repository: "gantry/files", Err: fs.ErrNotExist}})
	if err != nil || len(lost.Files) != 3 || len(lost.Missing) != 1 {
		t.Errorf("without a file: %v, %v", lost, err)
	}
	some, err := p.OnlyImages(p.Images[:1])
	if err != nil || len(some.Files) != 0 || len(some.Images) != 1 {
		t.Errorf("only an image: %v, %v", some, err)
	}
	store := newFixture(t)
	if err := RebuildFile(t.Context(), p.Files[0], store); err != nil || store.blobs[p.Files[0].Digest] == nil {
		t.Errorf("building it again: %v", err)
	}
	other := p.Files[0]
	other.Executable = true
	if err := RebuildFile(t.Context(), other, store); err == nil {
		t.Error("a file with another manifest was built")
	}
}

func TestPlanFilesMissing(t *testing.T) {
	const image = "\n  additionalImages: [{name: \"quay.io/org/a:1\"}]\n"
	sum := digest.FromString("disk").Encoded()
	for _, tc := range []struct {
		name, files, message string
		missing              int
	}{
		{"gone", "[{url: \"https://example.com/gone\", sha256: " + sum + "}]", "", 1},
		{"sizes", "[{url: \"https://example.com/huge\", sha256: " + sum + "}, {url: \"https://example.com/empty\", sha256: " + sum + "}]", "", 2},
		{"no file", "[{path: gone}]", "file gone: file does not exist", 0},
		{"wrong checksum", "[{path: note.txt, sha256: " + sum + "}]", "has the digest " + digest.FromString("read me").String() + ", and sha256:" + sum + " was expected", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := planFiles(t, "\n  files: "+tc.files+image)
			if tc.message != "" {
				if err == nil || advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), tc.message) || !strings.Contains(err.Error(), ":5: ") {
					t.Fatalf("error %v, expected %q", err, tc.message)
				}
				return
			}
			if err != nil || len(p.Missing) != tc.missing || len(p.Files) != 0 || len(p.Images) != 1 || p.Missing[0].Kind != plan.FileImage {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

func TestAddFile(t *testing.T) {
	w := newFixture(t)
	var p plannedFiles
	entry := func(text, source string, why plan.Reason) fileEntry {
		return fileEntry{
			File:   fileartifact.File{Name: "oc", Digest: digest.FromString(text), Size: int64(len(text)), Executable: true},
			origin: source, source: plan.FileScheme + plan.LocalFile + source, reasons: []plan.Reason{why},
		}
	}
	for _, e := range []fileEntry{entry("1", "a", plan.Reason{Release: "4.20.1-x86_64"}), entry("1", "b", plan.Reason{List: "files"})} {
		fail.On(t, p.add(t.Context(), w, e))
	}
	if len(p.files) != 1 || len(p.requests) != 1 || len(p.requests[0].reasons) != 2 {
		t.Errorf("the same file twice: %+v, %+v", p.files, p.requests)
	}
	says(t, p.add(t.Context(), w, entry("2", "c", plan.Reason{})), "a and c would both become the file oc")
	below := entry("3", "d", plan.Reason{})
	below.Name = "OC/d"
	says(t, p.add(t.Context(), w, below), `d: "oc" cannot be a file, because it is the folder of "OC/d"`)
}
