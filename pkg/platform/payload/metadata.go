package payload

import (
	"fmt"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	metadataKind = "cincinnati-metadata-v0"
	// archKey is "multi" in the metadata of every shard.
	archKey = "release.openshift.io/architecture"
	urlKey  = "url"
)

// A metadataText is release-metadata (openshift/cincinnati, graph_builder/release.rs).
type metadataText struct {
	Kind     string                    `json:"kind"`
	Version  string                    `json:"version"`
	Previous []string                  `json:"previous"`
	Next     []string                  `json:"next"`
	Metadata map[string]jsontext.Value `json:"metadata"`
}

// parseMetadata parses release-metadata, which contains neither digest nor architecture.
func parseMetadata(data []byte) (*Release, error) {
	var m metadataText
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	if m.Kind != metadataKind {
		return nil, fmt.Errorf("kind %.200q, want %s", m.Kind, metadataKind)
	}
	if _, err := semver.Parse(m.Version); err != nil {
		return nil, fmt.Errorf("version %.200q: %w", m.Version, err)
	}
	for _, list := range []struct {
		key      string
		versions []string
	}{{"previous", m.Previous}, {"next", m.Next}} {
		for n, v := range list.versions {
			if _, err := semver.Parse(v); err != nil {
				return nil, fmt.Errorf("%s[%d] %.200q: %w", list.key, n, v, err)
			}
		}
	}
	about := &Release{Version: m.Version, Previous: m.Previous, Next: m.Next, Metadata: map[string]string{}}
	for key, value := range m.Metadata {
		switch value.Kind() {
		case 'n':
			continue
		case '"':
			var s string
			if err := json.Unmarshal(value, &s); err != nil {
				return nil, fmt.Errorf("metadata %.200q: %w", key, err)
			}
			about.Metadata[key] = s
		default:
			if err := value.Compact(); err != nil {
				return nil, fmt.Errorf("metadata %.200q: %w", key, err)
			}
			about.Metadata[key] = string(value)
		}
	}
	about.URL = about.Metadata[urlKey]
	return about, nil
}
