package ocarchive_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/ocarchive"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

const storage = "docker/registry/v2/"

// A disk is what oc mirror writes, as texts by path.
type disk map[string]string

func blobPath(d digest.Digest) string {
	return storage + "blobs/" + d.Algorithm().String() + "/" + d.Encoded()[:2] + "/" + d.Encoded() + "/data"
}

func linkPath(repository, below string) string {
	return storage + "repositories/" + repository + "/_manifests/" + below + "/link"
}

// push adds a manifest with its tag.
func (d disk) push(repository, tag, text string) digest.Digest {
	sum := digest.FromString(text)
	d[blobPath(sum)] = text
	d[linkPath(repository, "revisions/sha256/"+sum.Encoded())] = string(sum)
	d[linkPath(repository, "tags/"+tag+"/current")] = string(sum)
	d[linkPath(repository, "tags/"+tag+"/index/sha256/"+sum.Encoded())] = string(sum)
	return sum
}

// tarred returns a volume with these files, each below a prefix.
func (d disk) tarred(t *testing.T, prefix string, paths ...string) []byte {
	t.Helper()
	var all bytes.Buffer
	w := tar.NewWriter(&all)
	for _, path := range paths {
		fail.On(t, w.WriteHeader(&tar.Header{Name: prefix + path, Size: int64(len(d[path])), Mode: 0o644, ModTime: time.Unix(1767225600, 0), Typeflag: tar.TypeReg}))
		_, err := io.WriteString(w, d[path])
		fail.On(t, err)
	}
	fail.On(t, w.Close())
	return all.Bytes()
}

// archive writes volumes with at most n files to a new folder.
func (d disk) archive(t *testing.T, prefix string, n int) string {
	t.Helper()
	dir, volume := t.TempDir(), 0
	for paths := range slices.Chunk(slices.Sorted(maps.Keys(d)), n) {
		volume++
		fail.On(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("mirror_%06d.tar", volume)), d.tarred(t, prefix, paths...), 0o600))
	}
	fail.On(t, os.WriteFile(filepath.Join(dir, "mirror_1.tar.sha256"), nil, 0o600))
	return dir
}

// cache writes the files to a folder below a new one, which it returns.
func (d disk) cache(t *testing.T, at string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range d {
		name := filepath.Join(dir, at, filepath.FromSlash(path))
		fail.On(t, os.MkdirAll(filepath.Dir(name), 0o755))
		fail.On(t, os.WriteFile(name, []byte(text), 0o600))
		fail.On(t, os.Chtimes(name, time.Time{}, time.Unix(1767225600, 0)))
	}
	return dir
}

func open(t *testing.T, dirs ...string) *ocarchive.Archive {
	t.Helper()
	a, err := ocarchive.Open(dirs...)
	fail.On(t, err)
	t.Cleanup(func() { fail.On(t, a.Close()) })
	return a
}

// A content is what an archive has.
type content struct {
	Tags          []ocarchive.Tag
	Files         map[string]string
	Configuration string
}

// read reads everything: the manifest of each tag too, which must be in the archive.
func read(t *testing.T, a *ocarchive.Archive) (c content) {
	t.Helper()
	var err error
	c.Tags, err = a.Tags()
	fail.On(t, err)
	for _, tag := range c.Tags {
		raw, err := a.Manifest(tag.Digest, 100)
		fail.On(t, err)
		body, err := a.Blob(tag.Digest)
		fail.On(t, err)
		streamed, err := io.ReadAll(body)
		fail.On(t, errors.Join(err, body.Close()))
		if size, ok := a.Size(tag.Digest); !ok || size != int64(len(raw)) || !bytes.Equal(raw, streamed) || !a.HadRevision(tag.Repository, tag.Digest) {
			t.Errorf("%s:%s has %d bytes, %q and %q", tag.Repository, tag.Tag, size, raw, streamed)
		}
	}
	c.Files = map[string]string{}
	for _, path := range a.Files("") {
		text, err := a.Text(path)
		fail.On(t, err)
		c.Files[path] = string(text)
		if !a.Time(path).Equal(time.Unix(1767225600, 0)) {
			t.Errorf("%s was written at %s", path, a.Time(path))
		}
	}
	_, text, err := a.Configuration()
	fail.On(t, err)
	c.Configuration = string(text)
	return c
}

// TestOpen reads what oc mirror writes: the same files as one volume, as several, and as a cache. What is foreign in them
// is not read.
func TestOpen(t *testing.T) {
	t.Parallel()
	d := disk{
		"working-dir/signatures/4.20.5-x86_64": "signed", "working-dir/helm/charts/web-0.1.0.tgz": "chart",
		"isc_2026-01-01T00:00:00Z": "old", "isc_2026-02-01T00:00:00Z": "new",
	}
	want := content{
		Tags: []ocarchive.Tag{
			{Name: ocarchive.Name{Repository: "acme/index", Tag: "v4.20"}, Digest: d.push("acme/index", "v4.20", "catalog")},
			{Name: ocarchive.Name{Repository: "tools/shell", Tag: "1"}, Digest: d.push("tools/shell", "1", "shell")},
			{Name: ocarchive.Name{Repository: "tools/shell", Tag: "2"}, Digest: d.push("tools/shell", "2", "newer shell")},
		},
		Files: maps.Clone(map[string]string(d)), Configuration: "new",
	}
	maps.DeleteFunc(want.Files, func(path, _ string) bool { return strings.HasPrefix(path, storage) })
	short := digest.Digest("sha512:" + strings.Repeat("a", 64))
	for _, path := range []string{
		"README.md", "isc_notes.txt", "elsewhere/isc_2026-03-01T00:00:00Z", "working-directory/x", storage + "other", blobPath(short),
		linkPath("UPPER", "tags/1/current"), linkPath("a", "tags/.1/current"), linkPath("a//b", "revisions/sha256/"+strings.Repeat("a", 64)),
	} {
		d[path] = "foreign"
	}
	for name, tc := range map[string]struct {
		dir     string
		volumes int
	}{
		"one volume": {d.archive(t, "", len(d)), 1}, "volumes": {d.archive(t, "", 4), (len(d) + 3) / 4}, "./": {d.archive(t, "./", len(d)), 1},
		"a cache": {d.cache(t, "."), 1}, "a folder with .cache": {d.cache(t, ".cache"), 1}, "a home": {d.cache(t, ".oc-mirror/.cache"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := open(t, tc.dir)
			fail.Diff(t, want, read(t, a))
			if len(a.Volumes) != tc.volumes || !strings.HasPrefix(a.Volumes[0], tc.dir) {
				t.Errorf("volumes %q, want %d", a.Volumes, tc.volumes)
			}
			if _, ok := a.Size(short); ok || a.HadRevision("a//b", digest.Digest("sha256:"+strings.Repeat("a", 64))) {
				t.Error("content with an invalid name is in the archive")
			}
		})
	}
}

// TestSeries reads an archive that omits what earlier ones have: its links replace theirs, and blobs are where they are.
func TestSeries(t *testing.T) {
	t.Parallel()
	name := ocarchive.Name{Repository: "tools/shell", Tag: "1"}
	first := disk{"isc_2026-01-01T00:00:00Z": "first"}
	shell := first.push("tools/shell", "1", "shell")
	kept := first.push("tools/kept", "1", "kept")
	second := disk{"isc_2026-02-01T00:00:00Z": "second"}
	newer := second.push("tools/shell", "1", "newer shell")
	second.push("tools/kept", "1", "kept")
	delete(second, blobPath(kept))
	old, now := first.archive(t, "", 3), second.archive(t, "", 100)
	for label, tc := range map[string]struct {
		dirs []string
		want digest.Digest
	}{
		"oldest first": {[]string{old, now}, newer}, "newest first": {[]string{now, old}, shell}, "the newest with the cache": {[]string{first.cache(t, "."), now}, newer},
	} {
		c := read(t, open(t, tc.dirs...))
		want := []ocarchive.Tag{{Name: ocarchive.Name{Repository: "tools/kept", Tag: "1"}, Digest: kept}, {Name: name, Digest: tc.want}}
		t.Log(label)
		fail.Diff(t, content{Tags: want, Files: map[string]string{"isc_2026-01-01T00:00:00Z": "first", "isc_2026-02-01T00:00:00Z": "second"}, Configuration: "second"}, c)
	}
	alone := open(t, now)
	if _, ok := alone.Size(kept); ok || !alone.HadRevision("tools/kept", kept) || alone.HadRevision("tools/shell", kept) {
		t.Error("the second archive alone has what it omits")
	}
	_, blobErr := alone.Blob(kept)
	_, manifestErr := alone.Manifest(kept, 100)
	_, textErr := alone.Text("isc_2026-01-01T00:00:00Z")
	_, _, configErr := open(t, disk{"working-dir/x": ""}.archive(t, "", 1)).Configuration()
	for _, err := range []error{blobErr, manifestErr, textErr, configErr} {
		fail.Diff(t, fs.ErrNotExist, err, cmpopts.EquateErrors())
	}
}

// TestDamaged checks that folders that are not what oc mirror wrote are errors, and which are errors because they have no archive.
func TestDamaged(t *testing.T) {
	t.Parallel()
	d := disk{"isc_2026-01-01T00:00:00Z": "configuration", "working-dir/a": strings.Repeat("a", 600), "working-dir/b": strings.Repeat("b", 5000)}
	whole := d.tarred(t, "", "working-dir/a", "working-dir/b")
	outside := filepath.Join(t.TempDir(), "outside.tar")
	fail.On(t, os.WriteFile(outside, whole, 0o600))
	for name, tc := range map[string]struct {
		volume string
		raw    []byte
		want   string
		absent bool
	}{
		"empty":                {"mirror_000001.tar", nil, "mirror_000001.tar: it is empty", false},
		"cut in a header":      {"mirror_000001.tar", whole[:1700], "it is not a complete tar file", false},
		"cut in a file":        {"mirror_000001.tar", whole[:4096], `it is cut off in "working-dir/b"`, false},
		"cut at a file":        {"mirror_000001.tar", whole[:len(whole)-1024], "it is cut off", false},
		"cut in the last part": {"mirror_000001.tar", whole[:len(whole)-512], "it is cut off", false},
		"smaller than an end":  {"mirror_000001.tar", make([]byte, 512), "it is", false},
		"text":                 {"mirror_000001.tar", bytes.Repeat([]byte("no tar file"), 200), "it is not a complete tar file", false},
		"a second volume":      {"mirror_000002.tar", nil, "mirror_000002.tar: it is empty", false},
		"an unknown name":      {"mirror_seq1_000000.tar", whole, "there is no mirror_000001.tar and no docker/registry/v2/", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.volume == "mirror_000002.tar" {
				dir = d.archive(t, "", 10)
			}
			fail.On(t, os.WriteFile(filepath.Join(dir, tc.volume), tc.raw, 0o600))
			_, err := ocarchive.Open(dir)
			if err == nil || !strings.Contains(err.Error(), "in "+dir+": ") || !strings.Contains(err.Error(), tc.want) || errors.Is(err, fs.ErrNotExist) != tc.absent {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	linked := t.TempDir()
	fail.On(t, os.Symlink(outside, filepath.Join(linked, "mirror_000001.tar")))
	if _, err := ocarchive.Open(linked); err == nil {
		t.Error("a link to a file outside of the folder is read")
	}
	for _, path := range []string{t.TempDir(), outside, filepath.Join(t.TempDir(), "absent")} {
		if _, err := ocarchive.Open(d.archive(t, "", 1), path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("nothing: %v", err)
		}
	}
}

// TestDamagedContent checks that links and manifests are untrusted.
func TestDamagedContent(t *testing.T) {
	t.Parallel()
	d := disk{}
	sum := d.push("tools/shell", "1", "shell")
	link := linkPath("tools/shell", "tags/1/current")
	for name, tc := range map[string]struct{ path, text, want string }{
		"a link without a digest":  {link, "../../etc/passwd", `the link of tools/shell:1 has "../../etc/passwd", which is not a digest`},
		"a link that is too long":  {link, strings.Repeat("a", 300), "reading the link of tools/shell:1: it has 300 bytes, more than the 256"},
		"a link with a line end":   {link, string(sum) + "\n", ""},
		"a manifest of equal size": {blobPath(sum), "shelf", string(sum) + " is damaged: its digest is " + string(digest.FromString("shelf"))},
		"a manifest too large":     {blobPath(sum), strings.Repeat("shell", 30), "it has 150 bytes, more than the 100"},
	} {
		changed := maps.Clone(d)
		changed[tc.path] = tc.text
		a := open(t, changed.archive(t, "", 2))
		_, tagsErr := a.Tags()
		_, manifestErr := a.Manifest(sum, 100)
		if err := errors.Join(tagsErr, manifestErr); tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
