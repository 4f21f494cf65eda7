package registrytest

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"
	"text/template"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

//go:embed all:sample/acme sample/community sample/imageset.yaml
var sampleFiles embed.FS

// sampleCatalogs are the folders of the sample and the images they become. The
// images have one name and tag, as the catalogs of different vendors do.
var sampleCatalogs = map[string]string{
	"acme":      "registry.example.com/acme/operator-index:v4.20",
	"community": "quay.example.org/community/operator-index:v4.20",
}

// sampleImages are images that the sample's configuration lists beside the
// catalogs.
var sampleImages = []string{"images.example.net/tools/must-gather:4.20", "images.example.net/tools/netcheck:1.4"}

// A Sample is two operator catalogs on three invented hosts, with every image
// that they name: some forty, about 30 MB, the same bytes whenever they are
// made. What is in them, and why, stands in sample/README.md.
type Sample struct {
	// Catalogs are the file-based catalogs by the reference of their image.
	Catalogs map[string]fs.FS

	contents map[string]Content // by reference with tag
}

// NewSample makes the sample.
func NewSample() (*Sample, error) {
	s := &Sample{Catalogs: map[string]fs.FS{}, contents: map[string]Content{}}
	for dir, ref := range sampleCatalogs {
		catalog, err := s.render("sample/" + dir)
		if err != nil {
			return nil, fmt.Errorf("making sample catalog %s: %w", dir, err)
		}
		img, err := CatalogImage(catalog)
		if err != nil {
			return nil, fmt.Errorf("making sample catalog %s: %w", dir, err)
		}
		s.Catalogs[ref], s.contents[ref] = catalog, img
	}
	for _, ref := range sampleImages {
		img, err := Index(ref)
		if err != nil {
			return nil, fmt.Errorf("making sample image %s: %w", ref, err)
		}
		s.contents[ref] = img
	}
	return s, nil
}

// References lists all images of the sample by tag, sorted.
func (s *Sample) References() []string { return slices.Sorted(maps.Keys(s.contents)) }

// Content returns the image or index of a reference that References lists, and
// nil for any other.
func (s *Sample) Content(ref string) Content { return s.contents[ref] }

// Push puts the whole sample into a registry. An image of host/path:tag goes to
// host/path:tag below it, host included, so that hosts do not collide.
func (s *Sample) Push(ctx context.Context, c *Client) error {
	// The images of one repository go one by one: registries before version 3
	// lose content that is put into one repository twice at the same time.
	tags := map[string][]string{}
	for _, ref := range s.References() {
		repository, tag := splitTag(ref)
		tags[repository] = append(tags[repository], tag)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for repository, tags := range tags {
		g.Go(func() error {
			for _, tag := range tags {
				if _, err := c.Push(ctx, repository, tag, s.contents[repository+":"+tag]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// WriteConfig writes imageset.yaml and registries.conf into dir. The latter
// sends the sample's hosts to the registry that Push filled; plainHTTP lists
// registries that are to be spoken to in plain http, the source among them if
// it is one.
func (s *Sample) WriteConfig(dir, registry string, plainHTTP ...string) error {
	imageSet, err := sampleFiles.ReadFile("sample/imageset.yaml")
	if err != nil {
		return err
	}
	var conf bytes.Buffer
	insecure := slices.Contains(plainHTTP, registry)
	for _, host := range plainHTTP {
		fmt.Fprintf(&conf, "[[registry]]\nlocation = %q\ninsecure = true\n\n", host)
	}
	for _, host := range s.hosts() {
		fmt.Fprintf(&conf, "[[registry]]\nprefix = %q\nlocation = %q\ninsecure = %t\n\n", host, registry+"/"+host, insecure)
	}
	if err := os.WriteFile(filepath.Join(dir, "imageset.yaml"), imageSet, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "registries.conf"), bytes.TrimSuffix(conf.Bytes(), []byte("\n")), 0o600)
}

func (s *Sample) hosts() []string {
	var hosts []string
	for _, ref := range s.References() {
		host, _, _ := strings.Cut(ref, "/")
		hosts = append(hosts, host)
	}
	return slices.Compact(hosts)
}

// render fills in one catalog's templates and makes the images they name.
func (s *Sample) render(dir string) (fs.FS, error) {
	funcs := template.FuncMap{
		"image":    func(ref string) (string, error) { return s.byDigest(ref, image(Image)) },
		"index":    func(ref string) (string, error) { return s.byDigest(ref, index(Index)) },
		"attested": func(ref string) (string, error) { return s.byDigest(ref, index(AttestedIndex)) },
		"bundle": func(ref, name, version string) (string, error) {
			return s.byDigest(ref, image(func(string) (v1.Image, error) { return BundleImage(name, version) }))
		},
		"tag": func(ref string) (string, error) {
			_, err := s.byDigest(ref, image(Image))
			return ref, err
		},
		"both": func(ref string) (string, error) {
			pinned, err := s.byDigest(ref, index(Index))
			return ref + pinned[strings.IndexByte(pinned, '@'):], err
		},
	}
	tree, err := fs.Sub(sampleFiles, dir)
	if err != nil {
		return nil, err
	}
	out := fstest.MapFS{}
	return out, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		t, err := template.New(name).Funcs(funcs).Parse(string(text))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, nil); err != nil {
			return err
		}
		out[name] = &fstest.MapFile{Data: b.Bytes(), Mode: 0o644}
		return nil
	})
}

func image(f func(string) (v1.Image, error)) func(string) (Content, error) {
	return func(s string) (Content, error) { return f(s) }
}

func index(f func(string) (v1.ImageIndex, error)) func(string) (Content, error) {
	return func(s string) (Content, error) { return f(s) }
}

// byDigest makes the image of a reference unless it is there, and returns the
// reference by digest.
func (s *Sample) byDigest(ref string, create func(string) (Content, error)) (string, error) {
	if s.contents[ref] == nil {
		content, err := create(ref)
		if err != nil {
			return "", err
		}
		s.contents[ref] = content
	}
	h, err := s.contents[ref].Digest()
	if err != nil {
		return "", err
	}
	r, err := reference.Parse(ref)
	if err != nil {
		return "", err
	}
	return r.Name() + "@" + h.String(), nil
}

func splitTag(ref string) (repository, tag string) {
	i := strings.LastIndexByte(ref, ':')
	return ref[:i], ref[i+1:]
}
