// Package shard is what a run that copied one shard of a plan leaves in the mirror: which plan, which shard
// and how it ended. The run that publishes the rest of the plan reads it, from whatever host.
//
// A result is the manifest of an OCI artifact without content. Its fields are annotations. The tag is made of
// the name of the image set and of the shard, so that results of the next plan replace those of the last one.
package shard

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice/escape"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// Repository is the name of the repository of results in a mirror (mirror.RegistryPath.OwnRepository).
const Repository = "shards"

// artifactType is the type of the manifests of results.
const artifactType = "application/vnd.gantry.shard.v1"

const (
	prefix   = "vnd.gantry.shard." // of the names of annotations
	maxValue = 256                 // bytes of an annotation
	maxText  = 64 << 10            // bytes of a manifest
	maxCount = 1 << 30             // of images
)

// A Result is how the last run of a shard ended. Its JSON is part of what gantry mirror -o json prints.
type Result struct {
	// Name is the name of the image set, and Plan the digest of the file of its plan.
	Name string        `json:"name"`
	Plan digest.Digest `json:"plan"`
	// Shard is the shard: "2/4".
	Shard string `json:"shard"`
	// Images is how many images the shard has. Failed is how many of them could not be copied; those that
	// are missing at their source, or refused by a policy or gate, do not count.
	Images int `json:"images"`
	Failed int `json:"failed"`
	// Host and User ran it; "" if unknown. Ended is in UTC, in full seconds.
	Host  string    `json:"host,omitempty"`
	User  string    `json:"user,omitempty"`
	Ended time.Time `json:"ended"`
}

// Complete reports whether the mirror had all images of the shard.
func (r *Result) Complete() bool { return r.Failed == 0 }

// Tag returns the tag of the result of a shard, index of count, for the name of an image set.
func Tag(name string, index, count int) string {
	return fmt.Sprintf("%s.%d-of-%d", setrecord.Tag(name), index, count)
}

// Manifest returns the result as a manifest, which has the empty blob as its configuration and layer.
func (r *Result) Manifest() ([]byte, error) {
	annotations := map[string]string{
		prefix + "name": r.Name, prefix + "plan": r.Plan.String(), prefix + "shard": r.Shard, prefix + "images": strconv.Itoa(r.Images),
		prefix + "failed": strconv.Itoa(r.Failed), prefix + "host": r.Host, prefix + "user": r.User, prefix + "ended": r.Ended.UTC().Format(time.RFC3339),
	}
	for name, value := range annotations {
		if value == "" {
			delete(annotations, name)
		}
	}
	raw, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifactType,
		Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{ocispec.DescriptorEmptyJSON}, Annotations: annotations,
	})
	if err == nil {
		_, err = Parse(raw) // what is written can be read
	}
	if err != nil {
		return nil, fmt.Errorf("making the result of shard %s: %w", r.Shard, err)
	}
	return raw, nil
}

// Parse reads a manifest that Manifest made.
func Parse(raw []byte) (*Result, error) {
	if len(raw) > maxText {
		return nil, fmt.Errorf("reading the result of a shard: it has %d bytes, and the limit is %d", len(raw), maxText)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("reading the result of a shard: %w", err)
	}
	if m.ArtifactType != artifactType {
		return nil, fmt.Errorf("reading the result of a shard: its type is %.60q, not %s", m.ArtifactType, artifactType)
	}
	value := func(name string) string { return m.Annotations[prefix+name] }
	for _, name := range []string{"name", "plan", "shard", "images", "failed", "host", "user", "ended"} {
		if v := value(name); len(v) > maxValue || escape.Contains(v) {
			return nil, fmt.Errorf("reading the result of a shard: the annotation %s%s has %d bytes, and at most %d are allowed, without control characters", prefix, name, len(v), maxValue)
		}
	}
	r := &Result{Name: value("name"), Plan: digest.Digest(value("plan")), Shard: value("shard"), Host: value("host"), User: value("user")}
	if r.Plan.Validate() != nil || r.Name == "" || r.Shard == "" {
		return nil, fmt.Errorf("reading the result of a shard: it has no name, no shard or no digest of a plan")
	}
	for name, to := range map[string]*int{"images": &r.Images, "failed": &r.Failed} {
		n, err := strconv.Atoi(value(name))
		if err != nil || n < 0 || n > maxCount {
			return nil, fmt.Errorf("reading the result of a shard: the annotation %s%s is not a number of images", prefix, name)
		}
		*to = n
	}
	var err error
	if r.Ended, err = time.Parse(time.RFC3339, value("ended")); err != nil {
		return nil, fmt.Errorf("reading the result of a shard: %w", err)
	}
	return r, nil
}
