package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// content is a store that is its own reader.
type content map[digest.Digest]stored

type stored struct {
	mediaType string
	data      []byte
}

func (c content) put(mediaType, text string) ocispec.Descriptor {
	d := digest.FromString(text)
	c[d] = stored{mediaType, []byte(text)}
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(text))}
}

func (c content) Write(_ context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	var b bytes.Buffer
	err := write(&b)
	return c.put(mediaType, b.String()), err
}

func (c content) Manifest(_ context.Context, _ string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	s, ok := c[d]
	if !ok {
		return ocispec.Descriptor{}, nil, fs.ErrNotExist
	}
	return ocispec.Descriptor{MediaType: s.mediaType, Digest: d, Size: int64(len(s.data))}, s.data, nil
}

func (c content) Blob(_ context.Context, _ string, desc ocispec.Descriptor, _ int64) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(c[desc.Digest].data)), nil
}

// json stores a manifest.
func (c content) json(t testing.TB, mediaType string, v any) ocispec.Descriptor {
	t.Helper()
	text, err := json.Marshal(v)
	fail.On(t, err)
	return c.put(mediaType, string(text))
}

// image stores an image with layers of these types.
func (c content) image(t testing.TB, manifestType, configType, arch string, annotations map[string]string, layerTypes ...string) ocispec.Descriptor {
	t.Helper()
	var ids []string
	layers := []ocispec.Descriptor{}
	for i, mediaType := range layerTypes {
		layers = append(layers, c.put(mediaType, fmt.Sprintf("layer %d of %s", i, arch)))
		ids = append(ids, `"`+digest.FromString(fmt.Sprint(i)).String()+`"`)
	}
	config := c.put(configType, `{"os":"linux","architecture":"`+arch+`","rootfs":{"type":"layers","diff_ids":[`+strings.Join(ids, ",")+`]}}`)
	m := map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": layers}
	if annotations != nil {
		m["annotations"] = annotations
	}
	return c.json(t, manifestType, m)
}

func (c content) index(t testing.TB, mediaType string, children ...ocispec.Descriptor) ocispec.Descriptor {
	t.Helper()
	return c.json(t, mediaType, map[string]any{"schemaVersion": 2, "mediaType": mediaType, "manifests": children, "annotations": map[string]string{"of": "the index"}})
}

func platform(d ocispec.Descriptor, arch string) ocispec.Descriptor {
	d.Platform = &ocispec.Platform{OS: "linux", Architecture: arch}
	d.Annotations = map[string]string{"of": "the line"}
	return d
}

// convert converts an image and returns the digest of the result, and how many manifests were written.
func convert(t testing.TB, c content, root digest.Digest, f manifest.Format) (digest.Digest, int) {
	t.Helper()
	written, err := Convert(t.Context(), c, c, "", root, Conversion{Format: f})
	fail.On(t, err)
	if made, ok := written[root]; ok {
		return made.Digest, len(written)
	}
	return root, len(written)
}

// check checks that everything below a manifest has only types of the format, and that all of it exists with
// the size that is listed. It returns the number of images.
func (c content) check(t testing.TB, f manifest.Format, desc ocispec.Descriptor) int {
	t.Helper()
	s, ok := c[desc.Digest]
	if !ok || desc.Size != 0 && desc.Size != int64(len(s.data)) || f.Refuses(s.mediaType) || desc.MediaType != "" && desc.MediaType != s.mediaType && manifest.Is(s.mediaType) {
		t.Errorf("%+v: %t, %s, %d bytes", desc, ok, s.mediaType, len(s.data))
	}
	var m struct {
		MediaType         string
		Config            *ocispec.Descriptor
		Layers, Manifests []ocispec.Descriptor
		Annotations       map[string]string
	}
	fail.On(t, json.Unmarshal(s.data, &m))
	if f == manifest.Docker && (m.MediaType != s.mediaType || len(m.Annotations) > 0) {
		t.Errorf("%s", s.data)
	}
	for _, d := range append(m.Layers, *orEmpty(m.Config)) {
		if f.Refuses(d.MediaType) || d.Digest != "" && int64(len(c[d.Digest].data)) != d.Size {
			t.Errorf("it lists %+v", d)
		}
	}
	if m.Config != nil {
		return 1
	}
	images := 0
	for _, d := range m.Manifests {
		if f == manifest.Docker && (d.Platform == nil || len(d.Annotations) > 0) {
			t.Errorf("the line %+v", d)
		}
		images += c.check(t, f, d)
	}
	return images
}

func orEmpty(d *ocispec.Descriptor) *ocispec.Descriptor {
	if d == nil {
		return &ocispec.Descriptor{}
	}
	return d
}

// TestConvertRandomly converts random images and indexes of mixed types. The result has only types of the format,
// is the same each time, does not change when it is converted again, and is the same after it went through the other
// format.
func TestConvertRandomly(t *testing.T) {
	t.Parallel()
	layers := [][2]string{
		{manifest.DockerLayer, ocispec.MediaTypeImageLayerGzip}, {"application/vnd.docker.image.rootfs.diff.tar", ocispec.MediaTypeImageLayer},
		{"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"},
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := content{}
		image := func(arch string) ocispec.Descriptor {
			types := []string{}
			for range r.IntN(4) {
				types = append(types, layers[r.IntN(len(layers))][r.IntN(2)])
			}
			if r.IntN(2) == 0 {
				return c.image(t, manifest.DockerImage, manifest.DockerConfig, arch, nil, types...)
			}
			return c.image(t, ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageConfig, arch, map[string]string{"a": "b"}, types...)
		}
		root := image("amd64")
		n := 1
		if r.IntN(3) > 0 {
			children := []ocispec.Descriptor{platform(root, "amd64")}
			for _, arch := range []string{"arm64", "s390x"}[:r.IntN(3)] {
				children = append(children, platform(image(arch), arch))
			}
			n = len(children)
			root = c.index(t, []string{ocispec.MediaTypeImageIndex, manifest.DockerList}[r.IntN(2)], children...)
			if c[root.Digest].mediaType == manifest.DockerList {
				root = c.json(t, manifest.DockerList, map[string]any{"schemaVersion": 2, "mediaType": manifest.DockerList, "manifests": withoutAnnotations(children)})
			}
		}
		for _, f := range []manifest.Format{manifest.Docker, manifest.OCI} {
			made, _ := convert(t, c, root.Digest, f)
			fail.Diff(t, n, c.check(t, f, ocispec.Descriptor{Digest: made}))
			if again, _ := convert(t, c, root.Digest, f); again != made {
				t.Errorf("the second time, it became %s, not %s", again, made)
			}
			if again, written := convert(t, c, made, f); again != made || written != 0 {
				t.Errorf("converted again, %d manifests were written: %s", written, c[again].data)
			}
		}
		docker, _ := convert(t, c, root.Digest, manifest.Docker)
		oci, _ := convert(t, c, docker, manifest.OCI)
		back, _ := convert(t, c, oci, manifest.Docker)
		// What was Docker's from the beginning keeps the order of its fields; what was converted is in one form.
		if twice, _ := convert(t, c, oci, manifest.Docker); twice != back {
			t.Errorf("%s, then %s", back, twice)
		}
		if c.normal(t, back) != c.normal(t, docker) {
			t.Errorf("seed %d: there and back:\n%s\n%s", seed, c[docker].data, c[back].data)
		}
		if t.Failed() {
			return
		}
	}
}

func withoutAnnotations(all []ocispec.Descriptor) (out []ocispec.Descriptor) {
	for _, d := range all {
		d.Annotations = nil
		out = append(out, d)
	}
	return out
}

// normal returns a manifest without the digests and sizes of its children, and these after it.
func (c content) normal(t testing.TB, d digest.Digest) string {
	t.Helper()
	var m map[string]any
	fail.On(t, json.Unmarshal(c[d].data, &m))
	below := ""
	if all, ok := m["manifests"].([]any); ok {
		for _, line := range all {
			o := line.(map[string]any)
			below += c.normal(t, digest.Digest(o["digest"].(string)))
			delete(o, "digest")
			delete(o, "size")
		}
	}
	text, err := json.Marshal(m)
	fail.On(t, err)
	return string(text) + below
}

// TestConvertIndex checks what becomes of the lines of an index: attestations and what is not kept are left out, and
// a platform that is missing is read from the config.
func TestConvertIndex(t *testing.T) {
	t.Parallel()
	c := content{}
	amd := c.image(t, ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageConfig, "amd64", nil, ocispec.MediaTypeImageLayerGzip)
	arm := c.image(t, ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageConfig, "arm64", nil, ocispec.MediaTypeImageLayerGzip)
	attestation := c.image(t, ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageConfig, "unknown", nil, "application/vnd.in-toto+json")
	attestation.Platform = &ocispec.Platform{OS: "unknown", Architecture: "unknown"}
	attestation.Annotations = map[string]string{"vnd.docker.reference.type": "attestation-manifest"}
	absent := platform(ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString("absent"), Size: 1}, "s390x")
	root := c.index(t, ocispec.MediaTypeImageIndex, amd, platform(arm, "arm64"), attestation, absent)

	if _, err := Convert(t.Context(), c, c, "", root.Digest, Conversion{Format: manifest.Docker}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with an absent child: %v", err)
	}
	written, err := Convert(t.Context(), c, c, "", root.Digest, Conversion{Format: manifest.Docker, Keep: func(d digest.Digest) bool { return d != absent.Digest }})
	if err != nil || len(written) != 3 {
		t.Fatalf("%d manifests were written: %v", len(written), err)
	}
	made := written[root.Digest]
	c.check(t, manifest.Docker, made)
	want := fmt.Sprintf(`{"manifests":[{"digest":%q,"mediaType":%q,"platform":{"architecture":"amd64","os":"linux"},"size":%d},{"digest":%q,"mediaType":%q,"platform":{"architecture":"arm64","os":"linux"},"size":%d}],"mediaType":%q,"schemaVersion":2}`,
		written[amd.Digest].Digest, manifest.DockerImage, written[amd.Digest].Size, written[arm.Digest].Digest, manifest.DockerImage, written[arm.Digest].Size, manifest.DockerList)
	fail.Diff(t, want, string(c[made.Digest].data))
	// The same from what the result has.
	kept := map[digest.Digest]bool{written[amd.Digest].Digest: true, written[arm.Digest].Digest: true}
	again, err := Convert(t.Context(), c, c, "", root.Digest, Conversion{Format: manifest.Docker, KeepMade: func(d digest.Digest) bool { return kept[d] }})
	if err != nil || again[root.Digest].Digest != made.Digest {
		t.Errorf("%s, %v", again[root.Digest].Digest, err)
	}
}

// TestConvertRefuses checks what Docker's media types cannot express.
func TestConvertRefuses(t *testing.T) {
	t.Parallel()
	c := content{}
	oci := func(config string, layers ...string) ocispec.Descriptor {
		return c.image(t, ocispec.MediaTypeImageManifest, config, "amd64", nil, layers...)
	}
	inner := c.index(t, ocispec.MediaTypeImageIndex, platform(oci(ocispec.MediaTypeImageConfig), "amd64"))
	plain := oci(ocispec.MediaTypeImageConfig)
	withField := func(field string, v any) digest.Digest {
		var m map[string]any
		fail.On(t, json.Unmarshal(c[plain.Digest].data, &m))
		m[field] = v
		return c.json(t, ocispec.MediaTypeImageManifest, m).Digest
	}
	for name, tc := range map[string]struct {
		root digest.Digest
		want string
	}{
		"zstd":          {oci(ocispec.MediaTypeImageConfig, ocispec.MediaTypeImageLayerZstd).Digest, "layer"},
		"signature":     {oci(ocispec.MediaTypeImageConfig, "application/vnd.dev.cosign.simplesigning.v1+json").Digest, "simplesigning"},
		"chart":         {oci("application/vnd.cncf.helm.config.v1+json", "application/vnd.cncf.helm.chart.content.v1.tar+gzip").Digest, "config"},
		"artifact type": {withField("artifactType", "application/x"), "artifact"},
		"subject":       {withField("subject", plain), "artifact"},
		"nested":        {c.index(t, ocispec.MediaTypeImageIndex, inner).Digest, "another index"},
		"zstd inside":   {c.index(t, ocispec.MediaTypeImageIndex, platform(oci(ocispec.MediaTypeImageConfig, ocispec.MediaTypeImageLayerZstd), "amd64")).Digest, "zstd"},
	} {
		written, err := Convert(t.Context(), c, c, "", tc.root, Conversion{Format: manifest.Docker})
		if !errors.Is(err, ErrNotConvertible) || !strings.Contains(err.Error(), tc.want) || len(written) > 0 {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
