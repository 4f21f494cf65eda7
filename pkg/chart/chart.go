// Package chart reads Helm charts and makes OCI artifacts of them.
//
// A chart is an archive (.tgz) with a folder, in which Chart.yaml has name and version. Read reads an
// archive, Pack makes one of a folder, ParseIndex reads the list of a chart repository, Select chooses
// versions, and Build stores a chart as an artifact, as helm push would: a config (Chart.yaml as JSON), the
// archive, and the signature that was published beside it, if any (the provenance file). The same
// chart is the same artifact, byte for byte.
//
// Charts and lists come from others: their size is limited, and no path in them leads anywhere. The
// package neither renders charts (package renderer) nor uses the network.
package chart

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/klauspost/compress/gzip"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Limits of a chart. Those of the unpacked chart are Helm's own.
const (
	// MaxArchive is the maximum size of an archive, and MaxProvenance of its signature, in bytes.
	MaxArchive    = 48 << 20
	MaxProvenance = 1 << 20

	maxUnpacked = 100 << 20
	maxFiles    = 20_000
	maxMetadata = 1 << 20 // Chart.yaml
)

// Repository is the repository path in a mirror below which charts are, as charts/NAME.
const Repository = "charts"

// A Chart is a chart and its archive.
type Chart struct {
	Name, Version string
	// Type is "library" for a chart that only others use.
	Type string
	// Archive is the chart as it is installed, Provenance the signature file beside it or nil.
	Archive, Provenance []byte

	metadata []byte // Chart.yaml as JSON, sorted
}

// Tag returns the tag of a version of a chart, as Helm writes it: a tag cannot have a plus sign.
func Tag(version string) string { return strings.ReplaceAll(version, "+", "_") }

// VersionOf returns the version that a tag stands for.
func VersionOf(tag string) string { return strings.ReplaceAll(tag, "_", "+") }

// hasDrive reports whether a path of Windows has a drive.
func hasDrive(path string) bool {
	return len(path) > 1 && path[1] == ':' && ('a' <= path[0]|0x20 && path[0]|0x20 <= 'z')
}

// Read reads the archive of a chart. The archive is not changed.
func Read(archive []byte) (*Chart, error) {
	if len(archive) > MaxArchive {
		return nil, fmt.Errorf("the archive has %d bytes, more than %d", len(archive), MaxArchive)
	}
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("it is not an archive of a chart (.tgz): %w", err)
	}
	limited := &io.LimitedReader{R: z, N: maxUnpacked}
	var metadata []byte
	t := tar.NewReader(limited)
	for n := 0; ; n++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			if metadata == nil {
				return nil, errors.New("the archive has no Chart.yaml in a folder with the name of the chart")
			}
			return parse(archive, metadata)
		case limited.N <= 0:
			return nil, fmt.Errorf("the archive has more than %d bytes unpacked", maxUnpacked)
		case err != nil:
			return nil, fmt.Errorf("reading the archive: %w", err)
		case n == maxFiles:
			return nil, fmt.Errorf("the archive has more than %d files", maxFiles)
		case h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		name, err := insidePath(h.Name)
		if err != nil {
			return nil, err
		}
		if name != "Chart.yaml" || metadata != nil {
			continue
		}
		if metadata, err = io.ReadAll(io.LimitReader(t, maxMetadata+1)); err != nil {
			return nil, fmt.Errorf("reading Chart.yaml: %w", err)
		}
		if len(metadata) > maxMetadata {
			return nil, fmt.Errorf("reading Chart.yaml: it has more than %d bytes", maxMetadata)
		}
	}
}

// insidePath returns the path of a file below the folder of the chart. As for Helm, a path that leads out of
// it is an error.
func insidePath(name string) (string, error) {
	unified := strings.ReplaceAll(name, `\`, "/")
	_, inside, ok := strings.Cut(strings.TrimPrefix(unified, "./"), "/")
	clean := path.Clean(inside)
	if !ok || inside == "" || path.IsAbs(unified) || path.IsAbs(inside) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") || hasDrive(inside) {
		return "", fmt.Errorf("the archive has the file %.200q, which is not in the folder of the chart", name)
	}
	return clean, nil
}

// parse returns the chart with the text of Chart.yaml.
func parse(archive, text []byte) (*Chart, error) {
	metadata, err := yaml.YAMLToJSON(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil, fmt.Errorf("reading Chart.yaml: %w", err)
	}
	var m struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Type    string `json:"type"`
	}
	if err := json.Unmarshal(metadata, &m); err != nil {
		return nil, fmt.Errorf("reading Chart.yaml: %w", err)
	}
	if err := CheckVersion(m.Name, m.Version); err != nil {
		return nil, fmt.Errorf("reading Chart.yaml: %w", err)
	}
	return &Chart{Name: m.Name, Version: m.Version, Type: m.Type, Archive: archive, metadata: metadata}, nil
}

// CheckVersion returns an error unless a chart with the name and version can be in a registry.
func CheckVersion(name, version string) error {
	if !reference.IsPath(name) || strings.Contains(name, "/") {
		return fmt.Errorf("the name %.100q cannot be a repository of a registry, which has lower-case letters, digits and dashes", name)
	}
	if _, err := semver.NewVersion(version); err != nil || !reference.IsTag(Tag(version)) {
		return fmt.Errorf("the version %.100q is not a semantic version of at most 128 characters", version)
	}
	return nil
}

// IsLibrary reports whether the chart cannot be installed on its own.
func (c *Chart) IsLibrary() bool { return c.Type == library }

// library is the type of charts that only other charts use.
const library = "library"
