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

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

//go:embed all:sample/acme sample/community sample/imageset.yaml
var sampleFiles embed.FS

// sampleCatalogs are the folders of the sample and the references of the images made from them. All
// have the same name and tag, as catalogs of different vendors do.
var sampleCatalogs = map[string]string{
	"acme":      "registry.example.com/acme/operator-index:v4.20",
	"community": "quay.example.org/community/operator-index:v4.20",
}

// sampleImages are images that the sample's configuration lists in addition to the catalogs.
var sampleImages = []string{"images.example.net/tools/must-gather:4.20", "images.example.net/tools/netcheck:1.4"}

// A Sample is two operator catalogs on three invented hosts, with every image that they name: about
// forty images and 30 MB, always with the same bytes. sample/README.md describes the content and
// its purpose.
type Sample struct {
	// Catalogs are the file-based catalogs by the reference of their image.
	Catalogs map[string]fs.FS

	contents map[string]Content // by reference with tag
	divisor  int                // of the sizes of random layers
}

// NewSample makes the sample.
func NewSample() (*Sample, error) { return makeSample(1) }

// NewSmallSample makes the sample with layers of a sixteenth of their size, for tests with the race
// detector, whose time depends on the number of bytes.
func NewSmallSample() (*Sample, error) { return makeSample(16) }

func makeSample(divisor int) (*Sample, error) {
	s := &Sample{Catalogs: map[string]fs.FS{}, contents: map[string]Content{}, divisor: divisor}
	for dir, ref := range sampleCatalogs {
		catalog, err := s.render("sample/" + dir)
		if err != nil {
			return nil, fmt.Errorf("making sample catalog %s: %w", dir, err)
		}
		img, err := catalogImage(catalog, divisor)
		if err != nil {
			return nil, fmt.Errorf("making sample catalog %s: %w", dir, err)
		}
		s.Catalogs[ref], s.contents[ref] = catalog, img
	}
	for _, ref := range sampleImages {
		img, err := operandIndex(ref, divisor)
		if err != nil {
			return nil, fmt.Errorf("making sample image %s: %w", ref, err)
		}
		s.contents[ref] = img
	}
	return s, nil
}

// References lists all images of the sample by tag, sorted.
func (s *Sample) References() []string { return slices.Sorted(maps.Keys(s.contents)) }

// Content returns the image or index of a reference that References returns, and nil for any other.
func (s *Sample) Content(ref string) Content { return s.contents[ref] }

// Push pushes the whole sample to a registry. The image host/path:tag goes to the repository
// host/path, so that hosts do not collide.
func (s *Sample) Push(ctx context.Context, c *Client) error {
	// The images of one repository go one by one: registries before version 3 lose content if two
	// clients push to one repository at the same time.
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

// WriteConfig writes imageset.yaml and registries.conf into dir. The latter maps the sample's hosts
// to the registry that Push filled. plainHTTP lists the registries that speak plain http, including
// the source if it does.
func (s *Sample) WriteConfig(dir, registry string, plainHTTP ...string) error {
	imageSet, err := sampleFiles.ReadFile("sample/imageset.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "imageset.yaml"), imageSet, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "registries.conf"), []byte(RegistriesConf(registry, s.hosts(), plainHTTP...)), 0o600)
}

// RegistriesConf returns a registries.conf that maps hosts to a registry, which has the image host/path as host/path.
// Clients use HTTP for the registries in plainHTTP.
func RegistriesConf(registry string, hosts []string, plainHTTP ...string) string {
	var conf strings.Builder
	for _, host := range plainHTTP {
		fmt.Fprintf(&conf, "[[registry]]\nlocation = %q\ninsecure = true\n\n", host)
	}
	for _, host := range hosts {
		fmt.Fprintf(&conf, "[[registry]]\nprefix = %q\nlocation = %q\ninsecure = %t\n\n", host, registry+"/"+host, slices.Contains(plainHTTP, registry))
	}
	return strings.TrimSuffix(conf.String(), "\n")
}

func (s *Sample) hosts() []string {
	var hosts []string
	for _, ref := range s.References() {
		host, _, _ := strings.Cut(ref, "/")
		hosts = append(hosts, host)
	}
	return slices.Compact(hosts)
}

// render expands the templates of one catalog and makes the images that they name.
func (s *Sample) render(dir string) (fs.FS, error) {
	single := func(ref string) (Content, error) { return operand(ref, platforms[0], s.divisor) }
	multi := func(ref string) (Content, error) { return operandIndex(ref, s.divisor) }
	funcs := template.FuncMap{
		"image": func(ref string) (string, error) { return s.byDigest(ref, single) },
		"index": func(ref string) (string, error) { return s.byDigest(ref, multi) },
		"attested": func(ref string) (string, error) {
			return s.byDigest(ref, func(ref string) (Content, error) { return attestedIndex(ref, s.divisor) })
		},
		"bundle": func(ref, name, version string) (string, error) {
			return s.byDigest(ref, func(string) (Content, error) { return BundleImage(name, version) })
		},
		"tag": func(ref string) (string, error) {
			_, err := s.byDigest(ref, single)
			return ref, err
		},
		"both": func(ref string) (string, error) {
			pinned, err := s.byDigest(ref, multi)
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

// byDigest returns the reference by digest. It makes the image unless it exists already.
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
