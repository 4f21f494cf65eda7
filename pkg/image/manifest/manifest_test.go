package manifest

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestKinds(t *testing.T) {
	const image, index, old, none = "image", "index", "schema 1", ""
	for mediaType, want := range map[string]string{
		"application/vnd.oci.image.manifest.v1+json":                image,
		"application/vnd.oci.image.index.v1+json":                   index,
		"application/vnd.docker.distribution.manifest.v2+json":      image,
		"application/vnd.docker.distribution.manifest.list.v2+json": index,
		"application/vnd.docker.distribution.manifest.v1+json":      old,
		"application/vnd.docker.distribution.manifest.v1+prettyjws": old,
		"application/vnd.oci.image.config.v1+json":                  none,
		"application/vnd.oci.image.layer.v1.tar+gzip":               none,
		"application/vnd.docker.container.image.v1+json":            none,
		"application/vnd.oci.image.manifest.v1+json; charset=utf-8": none,
		"application/json": none,
		"":                 none,
	} {
		got := none
		for kind, is := range map[string]bool{image: IsImage(mediaType), index: IsIndex(mediaType), old: IsSchema1(mediaType)} {
			if is {
				got += kind
			}
		}
		if got != want || Is(mediaType) != (want == image || want == index) {
			t.Errorf("%q is %q, manifest: %t; want %q", mediaType, got, Is(mediaType), want)
		}
	}
}

func TestTypeOf(t *testing.T) {
	for raw, want := range map[string]string{
		`{"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{}}`: DockerImage,
		`{"config":{},"layers":[]}`: "application/vnd.oci.image.manifest.v1+json",
		`{"manifests":[]}`:          "application/vnd.oci.image.index.v1+json",
		`{}`:                        "",
		`<html>`:                    "",
	} {
		fail.Diff(t, want, TypeOf([]byte(raw)))
	}
}
