package main

import (
	"context"
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
	"github.com/gantry-mirror/gantry/pkg/state"
)

// TestVerifySeveralFolders verifies an archive on two disks, one of them damaged and later
// repaired, and an archive that builds on it.
func TestVerifySeveralFolders(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	disk, second, spare := w.path("disk"), w.path("disk2"), w.path("spare")
	w.must("mirror", "-c", w.path("imageset.yaml"), "file://"+disk, "--volume-size", "0.5MB")
	const name = "gantry-000001.0002.tar"
	err := errors.Join(
		os.CopyFS(spare, os.DirFS(disk)),
		os.Mkdir(second, 0o755),
		os.Rename(filepath.Join(disk, name), filepath.Join(second, name)),
	)
	if err != nil {
		t.Fatal(err)
	}
	o := w.gantry("verify", "file://"+disk)
	if o.code != exitMismatch || !strings.Contains(o.stdout, name+" (sequence 1, volume 2 of ") || !strings.Contains(o.stdout, "is not in "+disk) || !strings.Contains(o.stdout, "    breaks\n") {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := w.must("verify", "file://"+disk, "file://"+second); !strings.Contains(o.stdout, "is intact") {
		t.Errorf("%s", o.stdout)
	}
	w.refuse(exitUsage, []string{"each of its folders"}, "verify", "file://"+disk, w.docker(""))

	have, err := archive.Open(spare)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = have.Close() }() // it was only read
	info := have.Selected()
	var blob archive.EntryInfo
	for e := range have.Entries() {
		if e.Volume == name && e.IsContent && e.Size > blob.Size {
			blob = e
		}
	}
	volume := filepath.Join(second, name)
	raw, err := os.ReadFile(volume)
	if err != nil {
		t.Fatal(err)
	}
	raw[blob.Offset+blob.Size/2] ^= 1
	if err := os.WriteFile(volume, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := w.gantry("verify", "file://"+disk, "file://"+second); o.code != exitMismatch || !strings.Contains(o.stdout, blob.Digest.Encoded()) {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	plan := planText(t, have)
	write := func(dir string, opts archive.Options, content ...ocispec.Descriptor) {
		t.Helper()
		writer, err := archive.Create(t.Context(), dir, archive.Content{
			Name: info.Series, Entries: slices.Values(content),
			Plan: func(to io.Writer) error { _, err := to.Write(plan); return err },
		}, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, desc := range content {
			if opts.Repair == nil {
				continue
			}
			if err := writer.PutBlob(t.Context(), "", desc, func(ctx context.Context, offset int64) (io.ReadCloser, error) {
				return have.Blob(ctx, "", desc, offset)
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(writer.Finish(t.Context()), writer.Close()); err != nil {
			t.Fatal(err)
		}
	}
	repair := w.path("repair")
	write(repair, archive.Options{Repair: &archive.Repair{SetRef: info.SetRef, Plan: info.Plan}}, ocispec.Descriptor{Digest: blob.Digest, Size: blob.ContentSize})
	o = w.must("verify", "file://"+disk, "file://"+second, "file://"+repair)
	if !strings.Contains(o.stdout, "Nothing is lost") || !strings.Contains(o.stdout, blob.Digest.Encoded()) {
		t.Errorf("%s", o.stdout)
	}

	p, err := archivePlan(t.Context(), have)
	if err != nil {
		t.Fatal(err)
	}
	next := w.path("next")
	write(next, archive.Options{Base: &archive.Base{
		Sets: []state.SetRef{info.SetRef},
		Has:  func(digest.Digest) bool { return true },
		Plan: info.Plan,
	}}, slices.Collect(mirror.Content(p))...)
	if o := w.must("verify", "file://"+next); !strings.Contains(o.stdout, "is intact") || !strings.Contains(o.stdout, "builds on sequence 1, whose folder was not named: the content that it omits is there, its plan included") {
		t.Errorf("%s", o.stdout)
	}
	if o := w.must("verify", "file://"+next, "file://"+spare); !strings.Contains(o.stdout, "is intact") || strings.Contains(o.stdout, "builds on") {
		t.Errorf("%s", o.stdout)
	}
}
