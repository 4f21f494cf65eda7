package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// userID is the user of the image, the number that images without root usually have. Its group is 0, since
// OpenShift runs images with a user of its own and this group.
const userID = 65532

// labels returns the labels of the image, by the names of the OCI image specification.
func labels(version, revision string) map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title":       "gantry",
		"org.opencontainers.image.description": "Takes operators, platform releases, charts and images to clusters without internet",
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
	for name, value := range map[string]string{"version": version, "revision": revision} {
		if value != "" {
			all["org.opencontainers.image."+name] = value
		}
	}
	return all
}

// build returns an index with one image for each platform.
func build(c contents, platforms []string, labels map[string]string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		img, platform, err := buildPlatform(c, p, labels)
		if err != nil {
			return nil, fmt.Errorf("making the image for %s: %w", p, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return index, nil
}

// buildPlatform returns the image for one platform.
func buildPlatform(c contents, name string, labels map[string]string) (v1.Image, *v1.Platform, error) {
	platform, err := v1.ParsePlatform(name)
	if err != nil {
		return nil, nil, err
	}
	if platform.OS != "linux" || platform.Architecture == "" {
		return nil, nil, fmt.Errorf("it is not linux/ARCHITECTURE")
	}
	c.programs = filepath.Join(c.programs, strings.ReplaceAll(name, "/", "-"))
	base, err := c.base()
	if err != nil {
		return nil, nil, err
	}
	programs, err := c.programLayer()
	if err != nil {
		return nil, nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	// The programs are the last layer: a new version of Gantry shares the others.
	img, err = mutate.Append(img,
		mutate.Addendum{Layer: base, History: history(c.modified, "certificate authorities, time zones and folders")},
		mutate.Addendum{Layer: programs, History: history(c.modified, "gantry and gantry-helm")})
	if err != nil {
		return nil, nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Variant = platform.OS, platform.Architecture, platform.Variant
	file.Created = v1.Time{Time: c.modified}
	file.Config = v1.Config{
		User:       fmt.Sprintf("%d:0", userID),
		WorkingDir: "/workspace",
		Entrypoint: []string{"/usr/bin/gantry"},
		Env: []string{
			"PATH=/usr/bin", "HOME=/workspace", "SSL_CERT_FILE=/" + certificatesFile, "ZONEINFO=/" + zoneinfoFile,
		},
		Volumes: map[string]struct{}{"/workspace": {}},
		Labels:  labels,
	}
	img, err = mutate.ConfigFile(img, file)
	return img, platform, err
}

func history(at time.Time, what string) v1.History {
	return v1.History{Created: v1.Time{Time: at}, CreatedBy: "make image", Comment: what}
}
