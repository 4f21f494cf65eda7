package histories

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The content of the source, with as many versions of each app and catalog. Every second app is an index of two platforms.
const (
	apps     = 5
	versions = 3

	appHost     = "images.example.net"
	zooHost     = "registry.example.com"
	releaseHost = "quay.io"
	zooTag      = "v4.20"
)

// packages are the packages of the catalog. Each version K of it has the bundles v1.0.0 to vK.0.0 of each.
func packages() []string { return []string{"otter", "heron"} }

// A sourceContent is what the source of all histories has at the beginning.
type sourceContent struct {
	once    sync.Once
	err     error
	storage string // of the registry
	// apps and catalogs are the digests by version, from 0.
	apps     [apps][versions]digest.Digest
	catalogs [versions]digest.Digest
	// bundles are the images of a bundle, by "PACKAGE VERSION": "path@digest".
	bundles  map[string][]string
	releases *releasetest.Platform
}

// source is made by the first history.
var source sourceContent

// get makes the content once.
func (c *sourceContent) get(t *testing.T) *sourceContent {
	t.Helper()
	c.once.Do(func() {
		first := rt.Start(t, rt.Options{Alone: true})
		if c.err = c.fill(t.Context(), first); c.err == nil {
			c.storage, c.err = first.Keep()
		}
	})
	fail.On(t, c.err)
	return c
}

func appPath(i int) string { return fmt.Sprintf("org/app%d", i) }

func (c *sourceContent) fill(ctx context.Context, at *rt.Server) error {
	client := at.Client()
	for i := range apps {
		repository := appHost + "/" + appPath(i)
		for v := range versions {
			content, err := app(i, v)
			if err != nil {
				return err
			}
			if c.apps[i][v], err = client.Push(ctx, repository, fmt.Sprint("built", v), content); err != nil {
				return err
			}
			if v == 1 {
				if _, err := client.PushSignature(ctx, repository, c.apps[i][v], ".sig", "signed"); err != nil {
					return err
				}
			}
			if v == 2 {
				if err := attach(ctx, at, repository, c.apps[i][v], "sbom"); err != nil {
					return err
				}
			}
		}
	}
	if err := c.fillCatalogs(ctx, client); err != nil {
		return err
	}
	definition := releasetest.Definition{Channels: map[string][]string{"stable-4.20": {"4.20.1", "4.20.2"}}}
	for _, version := range definition.Channels["stable-4.20"] {
		definition.Releases = append(definition.Releases, releasetest.Release{
			Version: version, Components: strings.Fields("cli cluster-version-operator machine-config-operator rhel-coreos"), Sigstore: version == "4.20.2",
		})
	}
	definition.Releases[1].Previous = []string{"4.20.1"}
	var err error
	if c.releases, err = releasetest.New(definition); err != nil {
		return err
	}
	return c.releases.Push(ctx, client, at.Host)
}

// app returns a version of an app, with a layer that some apps share.
func app(i, v int) (rt.Content, error) {
	image := func(arch string) (v1.Image, error) {
		return rt.LayeredImage(v1.Platform{OS: "linux", Architecture: arch}, true, v1.Config{},
			rt.RandomLayer{Seed: fmt.Sprintf("app%d %d %s", i, v, arch), Size: 400}, rt.RandomLayer{Seed: fmt.Sprint("shared", (i+v)%3), Size: 2000})
	}
	amd, err := image("amd64")
	if err != nil || i%2 == 0 {
		return amd, err
	}
	arm, err := image("arm64")
	if err != nil {
		return nil, err
	}
	return rt.ImageIndex(true, amd, arm)
}

// fillCatalogs pushes all versions of the catalog, with their images.
func (c *sourceContent) fillCatalogs(ctx context.Context, client *rt.Client) error {
	c.bundles = map[string][]string{}
	push := func(path string, content rt.Content, err error) (string, error) {
		if err != nil {
			return "", err
		}
		d, err := client.Push(ctx, zooHost+"/"+path, "", content)
		return path + "@" + d.String(), err
	}
	texts := map[string]string{}
	for v := range versions {
		for _, name := range packages() {
			version := fmt.Sprintf("%d.0.0", v+1)
			bundle, err := rt.BundleImage(name, version)
			at, err := push("zoo/"+name+"-bundle", bundle, err)
			if err != nil {
				return err
			}
			operator, err := rt.SizedImage(name+version, 300)
			operatorAt, err := push("zoo/"+name, operator, err)
			if err != nil {
				return err
			}
			den, err := denIndex(v)
			denAt, err := push("zoo/den", den, err)
			if err != nil {
				return err
			}
			if _, err := client.PushSignature(ctx, zooHost+"/zoo/"+name, digest.Digest(operatorAt[strings.Index(operatorAt, "@")+1:]), ".sig", "signed"); err != nil {
				return err
			}
			c.bundles[name+" "+version] = []string{at, operatorAt, denAt}
			texts[name] += channelText(name, v, c.bundles[name+" "+version])
		}
		files := fstest.MapFS{}
		for _, name := range packages() {
			files[name+"/catalog.yaml"] = &fstest.MapFile{Data: []byte(packageText(name, v, texts[name])), Mode: 0o644}
		}
		catalog, err := rt.CatalogImage(files)
		if err != nil {
			return err
		}
		if c.catalogs[v], err = client.Push(ctx, zooHost+"/zoo/index", fmt.Sprint("built", v), catalog); err != nil {
			return err
		}
	}
	return nil
}

// denIndex is an image that all bundles of a version name. Its versions share the image of one platform.
func denIndex(v int) (rt.Content, error) {
	amd, err := rt.LayeredImage(v1.Platform{OS: "linux", Architecture: "amd64"}, true, v1.Config{}, rt.RandomLayer{Seed: "den", Size: 300})
	if err != nil {
		return nil, err
	}
	arm, err := rt.LayeredImage(v1.Platform{OS: "linux", Architecture: "arm64"}, true, v1.Config{}, rt.RandomLayer{Seed: fmt.Sprint("den", v), Size: 300})
	if err != nil {
		return nil, err
	}
	return rt.ImageIndex(true, amd, arm)
}

// channelText is the bundle v of a package in the catalog, and packageText the package with its channel.
func channelText(name string, v int, images []string) string {
	text := fmt.Sprintf("---\nschema: olm.bundle\npackage: %s\nname: %s.v%d.0.0\nimage: %s/%s\nproperties:\n- {type: olm.package, value: {packageName: %s, version: %d.0.0}}\n"+
		"- {type: olm.csv.metadata, value: {displayName: %s, installModes: [{type: AllNamespaces, supported: true}]}}\nrelatedImages:\n", name, name, v+1, zooHost, images[0], name, v+1, name)
	for i, image := range images[1:] {
		text += fmt.Sprintf("- {name: image%d, image: %q}\n", i, zooHost+"/"+image)
	}
	return text
}

func packageText(name string, v int, bundles string) string {
	text := fmt.Sprintf("schema: olm.package\nname: %s\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: %s\nname: stable\nentries:\n", name, name)
	for i := range v + 1 {
		text += fmt.Sprintf("- name: %s.v%d.0.0\n", name, i+1)
		if i > 0 {
			text += fmt.Sprintf("  replaces: %s.v%d.0.0\n", name, i)
		}
	}
	return text + bundles
}

// attach pushes a referrer of an image, and adds it to the list of the image's referrers.
func attach(ctx context.Context, at *rt.Server, repository string, subject digest.Digest, text string) error {
	m, err := readManifest(ctx, at, repository, subject.String())
	if err != nil {
		return err
	}
	desc := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: subject, Size: 1}
	if m != nil {
		desc.MediaType, desc.Size = m.MediaType, int64(len(m.raw))
	}
	entry, err := at.Client().PushReferrer(ctx, repository, rt.Referrer{Subject: desc, ArtifactType: "application/x-history", Text: text})
	if err != nil {
		return err
	}
	list, err := readManifest(ctx, at, repository, listTag(subject))
	if err != nil {
		return err
	}
	var entries []ocispec.Descriptor
	if list != nil {
		entries = list.Manifests
	}
	return at.Client().PushReferrersTag(ctx, repository, subject, append(entries, entry)...)
}

// retag gives a tag to a manifest of the repository.
func retag(ctx context.Context, at *rt.Server, repository, tag string, d digest.Digest) error {
	m, err := readManifest(ctx, at, repository, d.String())
	if err == nil && m == nil {
		err = fmt.Errorf("%s@%s does not exist", repository, d)
	}
	if err != nil {
		return err
	}
	_, err = at.Client().PushRaw(ctx, repository, tag, m.MediaType, m.raw)
	return err
}

// foreignImage returns an image of others: a layer of the source, and a new one.
func foreignImage(i int, text string) (v1.Image, error) {
	base, err := rt.LayeredImage(v1.Platform{OS: "linux", Architecture: "amd64"}, true, v1.Config{}, rt.RandomLayer{Seed: fmt.Sprint("shared", i%3), Size: 2000})
	if err != nil {
		return nil, err
	}
	more, err := rt.SizedImage(text, 200)
	if err != nil {
		return nil, err
	}
	layers, err := more.Layers()
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(base, layers...)
}
