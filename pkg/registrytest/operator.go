package registrytest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

// BundleImage returns a registry+v1 bundle image: one layer with a small
// ClusterServiceVersion named "<package>.v<version>", and annotations.
func BundleImage(packageName, version string, more ...map[string]any) (v1.Image, error) {
	const prefix = "operators.operatorframework.io.bundle."
	labels := map[string]string{
		prefix + "mediatype.v1": "registry+v1",
		prefix + "manifests.v1": "manifests/",
		prefix + "metadata.v1":  "metadata/",
		prefix + "package.v1":   packageName,
	}
	type object = map[string]any
	spec := object{
		"displayName":  packageName,
		"version":      version,
		"installModes": []object{{"type": "AllNamespaces", "supported": true}},
		"install":      object{"strategy": "deployment", "spec": object{"deployments": []object{}}},
	}
	for _, members := range more {
		maps.Copy(spec, members)
	}
	csv, err := yaml.Marshal(object{
		"apiVersion": "operators.coreos.com/v1alpha1",
		"kind":       "ClusterServiceVersion",
		"metadata":   object{"name": packageName + ".v" + version},
		"spec":       spec,
	})
	if err != nil {
		return nil, err
	}
	annotations, err := yaml.Marshal(object{"annotations": labels})
	if err != nil {
		return nil, err
	}
	l := newLayer(map[string]File{
		"manifests/" + packageName + ".clusterserviceversion.yaml": {Data: csv},
		"metadata/annotations.yaml":                                {Data: annotations},
	})
	return assemble(platforms[0], false, v1.Config{Labels: labels}, l)
}

// CatalogImage returns an index of catalog images. Each is like the result of "opm generate
// dockerfile": a base layer, /bin/opm (a stub), a layer with the catalog below /configs and another
// with a cache below /tmp/cache that is valid only for the whole catalog.
func CatalogImage(catalog fs.FS) (v1.ImageIndex, error) { return catalogImage(catalog, 1) }

func catalogImage(catalog fs.FS, divisor int) (v1.ImageIndex, error) {
	configs, sum := map[string]File{}, sha256.New()
	err := fs.WalkDir(catalog, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(catalog, name)
		configs["configs/"+name] = File{Data: data}
		sum.Write(data)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading catalog: %w", err)
	}
	configLayer, cacheLayer := newLayer(configs), newLayer(map[string]File{
		"tmp/cache/pogreb.v1/digest":         {Data: []byte(hex.EncodeToString(sum.Sum(nil)[:8]))},
		"tmp/cache/pogreb.v1/db/00000-1.psg": {Data: []byte("cache of the whole catalog\n")},
	})
	return newIndex(false, func(p v1.Platform) (v1.Image, error) {
		opm := newLayer(map[string]File{"bin/opm": {Mode: 0o755, Data: fmt.Appendf(nil, "#!/bin/sh\n# replaces opm on %s\n", p)}})
		return assemble(p, false, v1.Config{
			User:         "1001",
			ExposedPorts: map[string]struct{}{"50051/tcp": {}},
			Env:          []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
			Entrypoint:   []string{"/bin/opm"},
			Cmd:          []string{"serve", "/configs", "--cache-dir=/tmp/cache"},
			Labels:       map[string]string{configsLabel: "/configs"},
		}, baseLayer(0, p, divisor), opm, configLayer, cacheLayer)
	})
}

// configsLabel names the folder of the file-based catalog in the image.
const configsLabel = "operators.operatorframework.io.index.configs.v1"
