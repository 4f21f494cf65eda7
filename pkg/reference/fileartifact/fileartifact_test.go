package fileartifact_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
)

// memory is a Store.
type memory map[digest.Digest][]byte

func (m memory) Write(_ context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return ocispec.Descriptor{}, err
	}
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(b.Bytes()), Size: int64(b.Len())}
	m[d.Digest] = b.Bytes()
	return d, nil
}

func TestBuild(t *testing.T) {
	for _, f := range []fileartifact.File{
		{Name: "oc", Digest: digest.FromString("program"), Size: 7, Executable: true},
		{Name: "images/rhcos live.iso", Digest: digest.FromString(""), Size: 0},
	} {
		store, again := memory{}, memory{}
		desc, err := fileartifact.Build(t.Context(), store, f)
		fail.On(t, err)
		if second, err := fileartifact.Build(t.Context(), again, f); err != nil || second.Digest != desc.Digest {
			t.Errorf("%s: built twice: %v and %v, %v", f.Name, desc.Digest, second.Digest, err)
		}
		if len(store) != 2 || store[ocispec.DescriptorEmptyJSON.Digest] == nil {
			t.Errorf("%s: it stored %d parts", f.Name, len(store))
		}
		got, err := fileartifact.FromManifest(store[desc.Digest])
		fail.On(t, err)
		if diff := cmp.Diff(f, got); diff != "" {
			t.Errorf("%s read back:\n%s", f.Name, diff)
		}
	}
	for _, f := range []fileartifact.File{
		{Name: "../oc", Digest: digest.FromString("")},
		{Name: "oc", Digest: "sha512:" + digest.Digest(strings.Repeat("0", 128))},
		{Name: "oc", Digest: digest.FromString(""), Size: -1},
		{Name: "oc", Digest: digest.FromString(""), Size: fileartifact.MaxSize + 1},
	} {
		if _, err := fileartifact.Build(t.Context(), memory{}, f); err == nil {
			t.Errorf("%+v was built", f)
		}
	}
}

func TestFromManifestRefuses(t *testing.T) {
	store := memory{}
	desc, err := fileartifact.Build(t.Context(), store, fileartifact.File{Name: "oc", Digest: digest.FromString("x"), Size: 1})
	fail.On(t, err)
	good := string(store[desc.Digest])
	for from, to := range map[string]string{
		fileartifact.Type:  "application/vnd.other",
		`"size":1,`:        `"size":-1,`,
		`.title":"oc"`:     `.title":"../oc"`,
		`"layers":[`:       `"layers":[{},`,
		`"schemaVersion":`: `"schemaVersion":"`,
	} {
		if !strings.Contains(good, from) {
			t.Fatalf("the manifest has no %s: %s", from, good)
		}
		if f, err := fileartifact.FromManifest([]byte(strings.Replace(good, from, to, 1))); err == nil {
			t.Errorf("with %s: %+v", to, f)
		}
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(good), &m); err != nil || m["artifactType"] != fileartifact.Type {
		t.Errorf("%v, %v", m, err)
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"oc", "a/b/c.tar.gz", ".bashrc", "größe", "with space.iso", "a..b", strings.Repeat("x", 255)} {
		if err := fileartifact.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", ".", "..", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", `a\b`, "C:x", "a:b", "name@sha256", "a\nb", "a\u202eb", "-rf",
		"a/-b", "a.", "a ", " a", "a/ b", "\xff", strings.Repeat("x", 256),
	} {
		if err := fileartifact.CheckName(name); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}

func TestTags(t *testing.T) {
	names := []string{"oc", "oc-4.20.5.tar.gz", "a/b", "a_b", "a b", ".hidden", "größe", strings.Repeat("x", 115), strings.Repeat("x", 116), strings.Repeat("x", 117), strings.Repeat("é", 127)}
	seen := map[string]string{}
	for _, name := range names {
		f := fileartifact.File{Name: name, Digest: digest.FromString(name)}
		for _, tag := range f.Tags() {
			if !reference.IsTag(tag) {
				t.Errorf("%q has the tag %q", name, tag)
			}
			if other := seen[tag]; other != "" {
				t.Errorf("%q and %q have the tag %s", name, other, tag)
			}
			seen[tag] = name
		}
	}
	if got := fileartifact.Tag("oc-4.20.5.tar.gz"); got != "oc-4.20.5.tar.gz" {
		t.Errorf("tag %q", got)
	}
}

// FuzzName checks that every accepted name has valid tags.
func FuzzName(f *testing.F) {
	for _, s := range []string{"oc", "a/b", "größe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if fileartifact.CheckName(name) == nil {
			for _, tag := range (fileartifact.File{Name: name, Digest: digest.FromString(name)}).Tags() {
				if !reference.IsTag(tag) {
					t.Errorf("%q has the tag %q", name, tag)
				}
			}
		}
	})
}
