package convert

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// An ocmirror is the connected side of oc mirror: its cache and working directory. It lays files out as
// that program does (internal/pkg/archive, release, operator), and archive writes them as its mirror-to-disk does:
// all links, the blobs that its history does not have, the working directory, and the configuration.
type ocmirror struct {
	t       *testing.T
	cache   map[string][]byte // paths below the cache
	work    map[string][]byte // paths below the working directory
	history map[digest.Digest]bool
	wanted  map[digest.Digest]bool // blobs of the images that this run mirrors
	month   int
}

func newOCMirror(t *testing.T) *ocmirror {
	return &ocmirror{t: t, cache: map[string][]byte{}, work: map[string][]byte{}, history: map[digest.Digest]bool{}, wanted: map[digest.Digest]bool{}}
}

const registryDir = "docker/registry/v2/"

// blob stores a blob.
func (o *ocmirror) blob(raw []byte) ocispec.Descriptor {
	d := digest.FromBytes(raw)
	o.cache[registryDir+"blobs/sha256/"+d.Encoded()[:2]+"/"+d.Encoded()+"/data"] = raw
	o.wanted[d] = true
	return ocispec.Descriptor{Digest: d, Size: int64(len(raw))}
}

// manifest stores a manifest in a repository.
func (o *ocmirror) manifest(repository string, v any) ocispec.Descriptor {
	raw, err := json.Marshal(v)
	fail.On(o.t, err)
	desc := o.blob(raw)
	desc.MediaType = ocispec.MediaTypeImageManifest
	o.cache[registryDir+"repositories/"+repository+"/_manifests/revisions/sha256/"+desc.Digest.Encoded()+"/link"] = []byte(desc.Digest)
	return desc
}

// image stores an image with layers, without a tag.
func (o *ocmirror) image(repository string, layers ...string) ocispec.Descriptor {
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest}
	m.Config = o.blob(fmt.Appendf(nil, `{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]},"author":%q}`, repository+strings.Join(layers, " ")))
	m.Config.MediaType = ocispec.MediaTypeImageConfig
	for _, text := range layers {
		l := o.blob([]byte(text))
		l.MediaType = ocispec.MediaTypeImageLayer
		m.Layers = append(m.Layers, l)
	}
	return o.manifest(repository, m)
}

// tag sets a tag. "" is the tag for an image that is mirrored by its digest.
func (o *ocmirror) tag(repository, tag string, d digest.Digest) digest.Digest {
	if tag == "" {
		tag = "sha256-" + d.Encoded()
	}
	below := registryDir + "repositories/" + repository + "/_manifests/tags/" + tag
	o.cache[below+"/current/link"] = []byte(d)
	o.cache[below+"/index/sha256/"+d.Encoded()+"/link"] = []byte(d)
	return d
}

// archive writes an archive to a new folder, with at most limit bytes of files in a volume, and adds to the history.
func (o *ocmirror) archive(configuration string, limit int) string {
	o.t.Helper()
	o.month++
	dir, now := o.t.TempDir(), time.Date(2026, time.Month(o.month), 1, 0, 0, 0, 0, time.UTC)
	var w *tar.Writer
	var f *os.File
	volumes, size := 0, 0
	end := func() {
		if w == nil {
			return
		}
		fail.On(o.t, w.Close())
		fail.On(o.t, f.Close())
	}
	add := func(path string, raw []byte) {
		if w == nil || size+len(raw) > limit {
			end()
			volumes++
			size = 0
			var err error
			if f, err = os.Create(filepath.Join(dir, fmt.Sprintf("mirror_%06d.tar", volumes))); err != nil {
				o.t.Fatal(err)
			}
			w = tar.NewWriter(f)
		}
		size += len(raw)
		fail.On(o.t, w.WriteHeader(&tar.Header{Name: path, Size: int64(len(raw)), Mode: 0o644, ModTime: now, Typeflag: tar.TypeReg}))
		if _, err := w.Write(raw); err != nil {
			o.t.Fatal(err)
		}
	}
	paths := slices.Sorted(maps.Keys(o.cache))
	for _, path := range paths {
		if strings.HasPrefix(path, registryDir+"repositories/") {
			add(path, o.cache[path])
		}
	}
	for _, path := range paths {
		if strings.HasPrefix(path, registryDir+"blobs/") {
			if d := digest.NewDigestFromEncoded(digest.SHA256, filepath.Base(filepath.Dir(path))); o.wanted[d] && !o.history[d] {
				add(path, o.cache[path])
				o.history[d] = true
			}
		}
	}
	o.work[".history/.history-"+now.Format(time.RFC3339)] = nil
	for _, path := range slices.Sorted(maps.Keys(o.work)) {
		add("working-dir/"+path, o.work[path])
	}
	add("isc_"+now.Format(time.RFC3339), []byte(configuration))
	end()
	o.wanted = map[digest.Digest]bool{}
	return dir
}

// unpacked writes the cache to a folder, as it is on a host.
func (o *ocmirror) unpacked() string {
	dir := o.t.TempDir()
	for path, raw := range o.cache {
		file := filepath.Join(dir, ".oc-mirror/.cache", filepath.FromSlash(path))
		fail.On(o.t, os.MkdirAll(filepath.Dir(file), 0o755))
		fail.On(o.t, os.WriteFile(file, raw, 0o600))
	}
	return dir
}
