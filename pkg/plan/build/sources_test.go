package build

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// fixture is an in-memory source of everything that a plan is made from.
type fixture struct {
	t     testing.TB
	mu    sync.Mutex
	tags  map[string]digest.Digest // "host/path:tag"
	repos map[string]map[digest.Digest]bool
	built map[digest.Digest]bool // written by Write
	blobs map[digest.Digest][]byte
	types map[digest.Digest]string
	reads map[digest.Digest]int
	files map[string]fs.FS
	texts map[string]string
}

func newFixture(t testing.TB) *fixture {
	return &fixture{
		t: t, tags: map[string]digest.Digest{}, repos: map[string]map[digest.Digest]bool{}, blobs: map[digest.Digest][]byte{},
		types: map[digest.Digest]string{}, reads: map[digest.Digest]int{}, files: map[string]fs.FS{}, texts: map[string]string{}, built: map[digest.Digest]bool{},
	}
}

func (w *fixture) put(mediaType string, raw []byte) ocispec.Descriptor {
	d := digest.FromBytes(raw)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blobs[d], w.types[d] = raw, mediaType
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(raw))}
}

func (w *fixture) json(mediaType string, v any) ocispec.Descriptor {
	raw, err := json.Marshal(v)
	fail.On(w.t, err)
	return w.put(mediaType, raw)
}

// image makes an image with one layer for each text.
func (w *fixture) image(texts ...string) ocispec.Descriptor {
	layers := elements.Map(texts, func(s string) ocispec.Descriptor { return w.put(ocispec.MediaTypeImageLayer, []byte(s)) })
	config := w.put(ocispec.MediaTypeImageConfig, []byte(`{"of":"`+strings.Join(texts, ",")+`"}`))
	return w.json(ocispec.MediaTypeImageManifest, map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest, "config": config, "layers": layers,
	})
}

// index makes a multi-platform image for linux with the given architectures.
func (w *fixture) index(arches ...string) ocispec.Descriptor {
	var children []ocispec.Descriptor
	for _, a := range arches {
		c := w.image("base", a)
		c.Platform = &ocispec.Platform{OS: "linux", Architecture: a}
		children = append(children, c)
	}
	return w.json(ocispec.MediaTypeImageIndex, map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageIndex, "manifests": children,
	})
}

// push adds an image and its children to a repository, tags it if name has a tag, and returns its
// reference by digest.
func (w *fixture) push(name string, desc ocispec.Descriptor) string {
	ref, err := reference.Parse(name)
	fail.On(w.t, err)
	repo := w.repos[ref.Name()]
	if repo == nil {
		repo = map[digest.Digest]bool{}
		w.repos[ref.Name()] = repo
	}
	repo[desc.Digest] = true
	var m struct{ Manifests []ocispec.Descriptor }
	fail.On(w.t, json.Unmarshal(w.blobs[desc.Digest], &m))
	for _, c := range m.Manifests {
		repo[c.Digest] = true
	}
	if ref.Tag != "" {
		w.tags[ref.Name()+":"+ref.Tag] = desc.Digest
	}
	return ref.WithDigest(desc.Digest).String()
}

// Manifest implements image.Reader. It finds built images by digest alone, like the cache of a
// workspace.
func (w *fixture) Manifest(_ context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.HasPrefix(source, "dir://") && !plan.IsChartSource(source) && !plan.IsFileSource(source) {
		ref, err := reference.Parse(source)
		if err != nil {
			return ocispec.Descriptor{}, nil, err
		}
		if d == "" {
			d = ref.Digest
		}
		if d == "" {
			d = w.tags[ref.Name()+":"+ref.Tag]
		}
		if !w.repos[ref.Name()][d] && !w.built[d] {
			return ocispec.Descriptor{}, nil, fmt.Errorf("%s is not there: %w", source, fs.ErrNotExist)
		}
	}
	w.reads[d]++
	return ocispec.Descriptor{MediaType: w.types[d], Digest: d, Size: int64(len(w.blobs[d]))}, w.blobs[d], nil
}

func (w *fixture) Blob(_ context.Context, _ string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return io.NopCloser(bytes.NewReader(w.blobs[desc.Digest][offset:])), nil
}

func (w *fixture) Write(_ context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return ocispec.Descriptor{}, err
	}
	desc := w.put(mediaType, b.Bytes())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.built[desc.Digest] = true
	return desc, nil
}

func (w *fixture) Dir(path string) (fs.FS, error) {
	if f, ok := w.files[path]; ok {
		return f, nil
	}
	return nil, fs.ErrNotExist
}

func (w *fixture) ReadFile(path string) ([]byte, error) {
	if s, ok := w.texts[path]; ok {
		return []byte(s), nil
	}
	return nil, fs.ErrNotExist
}

// jsonOf returns the plan as Write writes it.
func jsonOf(t *testing.T, p *plan.Plan) []byte {
	t.Helper()
	var b bytes.Buffer
	fail.On(t, p.Write(&b))
	return b.Bytes()
}

// noted checks that notes contain these words.
func noted(t *testing.T, notes []string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(strings.Join(notes, "\n"), word) {
			t.Errorf("%q is not in %q", word, notes)
		}
	}
}

// reread checks that a plan can be written and read, and returns what was read.
func reread(t *testing.T, p *plan.Plan) *plan.Plan {
	t.Helper()
	text := jsonOf(t, p)
	again, err := plan.Read(bytes.NewReader(text))
	fail.On(t, err)
	fail.Diff(t, string(text), string(jsonOf(t, again)))
	return again
}

func (w *fixture) sources() Sources { return Sources{Images: w, Files: w, Store: w} }

// catalog makes a dir:// catalog of one package. Each bundle replaces the previous one.
func (w *fixture) catalog(dir, pkg string, bundles ...map[string]any) {
	var b strings.Builder
	emit := func(v any) {
		raw, err := json.Marshal(v)
		fail.On(w.t, err)
		b.Write(append(raw, '\n'))
	}
	emit(map[string]any{"schema": "olm.package", "name": pkg, "defaultChannel": "stable"})
	var entries []map[string]any
	for i, bundle := range bundles {
		name := fmt.Sprintf("%s.v1.%d.0", pkg, i)
		e := map[string]any{"name": name}
		if i > 0 {
			e["replaces"] = fmt.Sprintf("%s.v1.%d.0", pkg, i-1)
		}
		entries = append(entries, e)
		bundle["schema"], bundle["package"], bundle["name"] = "olm.bundle", pkg, name
		properties, _ := bundle["properties"].([]map[string]any)
		bundle["properties"] = append(properties, map[string]any{"type": "olm.package", "value": map[string]string{"packageName": pkg, "version": fmt.Sprintf("1.%d.0", i)}})
		emit(bundle)
	}
	emit(map[string]any{"schema": "olm.channel", "package": pkg, "name": "stable", "entries": entries})
	w.files[dir] = fstest.MapFS{"catalog.json": {Data: []byte(b.String())}}
}

func related(images ...string) []map[string]string {
	var all []map[string]string
	for i, s := range images {
		name := fmt.Sprintf("image%d", i)
		if i == 1 {
			name = ""
		}
		all = append(all, map[string]string{"name": name, "image": s})
	}
	return all
}

func parseConfig(t testing.TB, text string) *imageset.Config {
	t.Helper()
	cfg, err := imageset.Parse("imageset.yaml", []byte("kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n"+text))
	fail.On(t, err)
	return cfg
}

// makePlan makes the plan of a mirror stanza.
func (w *fixture) makePlan(text string) *plan.Plan {
	w.t.Helper()
	p, err := Plan(w.t.Context(), parseConfig(w.t, text), "imageset", w.sources(), Options{})
	fail.On(w.t, err)
	return p
}

func descriptor(mediaType, raw string) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromString(raw), Size: int64(len(raw))}
}

// says checks that err is an error that contains all words, in its text or in its advice.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(advice.Text(err), word) {
			t.Errorf("%v does not say %q", advice.Text(err), word)
		}
	}
}
