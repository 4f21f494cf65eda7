package registrytest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Verified is the result of VerifyCatalog.
type Verified struct {
	Catalog Pulled
	Bundles []string // names, sorted
	// Images are the references that the catalog names, sorted, each once, and Pulled are the pulls
	// of those that are present.
	Images []string
	Pulled []Pulled
}

// Bytes returns the size of everything that was pulled. Shared content counts for each image.
func (v Verified) Bytes() int64 {
	n := v.Catalog.Bytes
	for _, p := range v.Pulled {
		n += p.Bytes
	}
	return n
}

// VerifyCatalog pulls a catalog image, unpacks it as a container runtime does, and pulls every
// bundle and related image that the catalog names from the same registry. The image host/path is
// expected in the repository place(path), or in path if place is nil. All platforms must contain
// the same catalog. The error joins what is missing or wrong.
func (c *Client) VerifyCatalog(ctx context.Context, repository, tagOrDigest string, place func(path string) string) (Verified, error) {
	var v Verified
	var err error
	if v.Catalog, err = c.Pull(ctx, repository, tagOrDigest); err != nil {
		return v, err
	}
	files, err := c.catalogFiles(ctx, repository, v.Catalog.Digest.String())
	if err != nil {
		return v, fmt.Errorf("reading catalog %s/%s: %w", c.host, repository, err)
	}
	bundles, images := map[string]bool{}, map[string]bool{}
	for name, text := range files {
		if !slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(name)) {
			continue // skip .indexignore and the files that it excludes
		}
		if err := collectImages(text, bundles, images); err != nil {
			return v, fmt.Errorf("reading catalog %s/%s: %s: %w", c.host, repository, name, err)
		}
	}
	v.Bundles, v.Images = slices.Sorted(maps.Keys(bundles)), slices.Sorted(maps.Keys(images))
	if len(v.Bundles) == 0 {
		return v, fmt.Errorf("catalog %s/%s has no bundles", c.host, repository)
	}
	var problems []error
	for _, image := range v.Images {
		ref, err := reference.Parse(image)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		to := ref.Path
		if place != nil {
			to = place(to)
		}
		p, err := c.Pull(ctx, to, cmp.Or(ref.Identifier(), "latest")) // as a runtime completes a name without tag
		if err != nil {
			problems = append(problems, err)
			continue
		}
		v.Pulled = append(v.Pulled, p)
	}
	return v, errors.Join(problems...)
}

// catalogFiles unpacks the folder that the image's label names, for each platform, and returns its
// files if they are the same for all platforms.
func (c *Client) catalogFiles(ctx context.Context, repository, name string) (map[string][]byte, error) {
	_, m, err := c.manifest(ctx, repository, name)
	if err != nil {
		return nil, err
	}
	if len(m.Manifests) == 0 {
		return c.unpack(ctx, repository, m)
	}
	var files map[string][]byte
	for _, desc := range m.Manifests {
		if desc.Platform != nil && desc.Platform.OS == "unknown" {
			continue
		}
		other, err := c.catalogFiles(ctx, repository, desc.Digest.String())
		if err != nil {
			return nil, err
		}
		if files != nil && !maps.EqualFunc(files, other, bytes.Equal) {
			return nil, fmt.Errorf("platforms hold different catalogs (%s is one)", desc.Digest)
		}
		files = other
	}
	return files, nil
}

func (c *Client) unpack(ctx context.Context, repository string, m manifest) (map[string][]byte, error) {
	var text bytes.Buffer
	if err := c.blob(ctx, repository, m.Config, &text); err != nil {
		return nil, err
	}
	var config ocispec.Image
	if err := json.Unmarshal(text.Bytes(), &config); err != nil {
		return nil, err
	}
	root := strings.Trim(config.Config.Labels[configsLabel], "/")
	if root == "" {
		return nil, fmt.Errorf("the image has no label %s", configsLabel)
	}
	files := map[string][]byte{}
	for _, desc := range m.Layers {
		var blob bytes.Buffer
		if err := c.blob(ctx, repository, desc, &blob); err != nil {
			return nil, err
		}
		if err := applyLayer(&blob, root+"/", files); err != nil {
			return nil, fmt.Errorf("layer %s: %w", desc.Digest, err)
		}
	}
	return files, nil
}

// applyLayer adds a layer's files below root, and removes what its whiteouts hide (image-spec,
// layer.md).
func applyLayer(blob io.Reader, root string, files map[string][]byte) error {
	zr, err := gzip.NewReader(blob)
	if err != nil {
		return err
	}
	fresh := map[string][]byte{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		dir, base := path.Split(name)
		hidden, isWhiteout := strings.CutPrefix(base, ".wh.")
		switch {
		case base == ".wh..wh..opq":
			maps.DeleteFunc(files, func(f string, _ []byte) bool { return strings.HasPrefix(f, dir) })
		case isWhiteout:
			gone := dir + hidden
			maps.DeleteFunc(files, func(f string, _ []byte) bool { return f == gone || strings.HasPrefix(f, gone+"/") })
		case h.Typeflag == tar.TypeReg && strings.HasPrefix(name, root):
			data, err := io.ReadAll(io.LimitReader(tr, blobLimit))
			if err != nil {
				return err
			}
			fresh[name] = data
		}
	}
	maps.Copy(files, fresh)
	return nil
}

// collectImages adds the names of the bundles in a file and the images that they name.
func collectImages(text []byte, bundles, images map[string]bool) error {
	type object struct {
		Schema, Name, Image string
		RelatedImages       []struct{ Image string } `json:"relatedImages" yaml:"relatedImages"`
	}
	decode := yaml.NewDecoder(bytes.NewReader(text)).Decode
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		decode = json.NewDecoder(bytes.NewReader(text)).Decode
	}
	for {
		var o object
		if err := decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if o.Schema != "olm.bundle" {
			continue
		}
		bundles[o.Name] = true
		images[o.Image] = true
		for _, r := range o.RelatedImages {
			images[r.Image] = true
		}
		delete(images, "")
	}
}
