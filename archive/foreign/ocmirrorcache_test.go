package foreign_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// An ocMirrorCache is the cache of oc mirror, version 2, which is the storage of a registry, and the rest of what its archives have.
type ocMirrorCache struct {
	*mirrortest.Site
	cache *registrytest.Server
	work  map[string]string // paths below the working directory
	had   map[string]bool   // blobs that earlier archives have
	month int
}

func newOCMirrorCache(t *testing.T) *ocMirrorCache {
	t.Helper()
	s := &mirrortest.Site{T: t, Dir: registrytest.TempDir(t), Mirror: registrytest.Start(t, registrytest.Options{})}
	s.Vars = map[string]string{"CONTAINERS_REGISTRIES_CONF": s.Write("registries.conf", ""), "HOME": t.TempDir()}
	s.Env = s.NewEnv()
	return &ocMirrorCache{Site: s, cache: registrytest.Start(t, registrytest.Options{Alone: true, Registry: registrytest.Registries()[0].Name}), work: map[string]string{}, had: map[string]bool{}}
}

// push stores an image under a tag; "" is the tag for an image that is mirrored by its digest.
func (o *ocMirrorCache) push(repository, tag string, content registrytest.Content, err error) digest.Digest {
	o.T.Helper()
	if err == nil && tag == "" {
		hash, hashErr := content.Digest()
		tag, err = "sha256-"+hash.Hex, hashErr
	}
	fail.On(o.T, err)
	d, err := o.cache.Client().Push(o.T.Context(), repository, tag, content)
	fail.On(o.T, err)
	return d
}

// archive writes what oc mirror writes to a disk: all links of the cache, the blobs that earlier archives do not have, the working
// directory, and the configuration.
func (o *ocMirrorCache) archive(configuration string) (dir string) {
	o.T.Helper()
	o.month++
	check := func(err error) {
		o.T.Helper()
		fail.On(o.T, err)
	}
	stored, err := o.cache.Keep()
	check(err)
	defer func() { check(os.RemoveAll(stored)) }()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	now := time.Date(2026, time.Month(o.month), 1, 12, 0, 0, 0, time.UTC)
	add := func(name string, raw []byte) {
		check(w.WriteHeader(&tar.Header{Name: name, Size: int64(len(raw)), Mode: 0o644, ModTime: now, Typeflag: tar.TypeReg}))
		_, err := w.Write(raw)
		check(err)
	}
	for _, below := range []string{"repositories", "blobs"} {
		check(fs.WalkDir(os.DirFS(stored), below, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || o.had[name] {
				return err
			}
			raw, err := fs.ReadFile(os.DirFS(stored), name)
			add("docker/registry/v2/"+name, raw)
			o.had[name] = below == "blobs"
			return err
		}))
	}
	for name, text := range o.work {
		add("working-dir/"+name, []byte(text))
	}
	add("isc_"+now.Format(time.RFC3339), []byte(configuration))
	check(w.Close())
	dir = o.Path(fmt.Sprint("disk", o.month))
	check(os.Mkdir(dir, 0o755))
	check(os.WriteFile(filepath.Join(dir, "mirror_000001.tar"), text.Bytes(), 0o600))
	return dir
}
