package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
	"github.com/gantry-mirror/gantry/pkg/signature/policy"
	"github.com/gantry-mirror/gantry/pkg/signature/registriesd"
)

// A memory has manifests by name and content by digest.
type memory struct {
	tags    map[string][]byte
	content map[digest.Digest][]byte
	err     error
}

func (m *memory) Manifest(_ context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	raw, ok := m.tags[source]
	if d != "" {
		raw, ok = m.content[d]
	}
	switch {
	case m.err != nil:
		return ocispec.Descriptor{}, nil, m.err
	case !ok:
		return ocispec.Descriptor{}, nil, fmt.Errorf("%s: %w", source, fs.ErrNotExist)
	}
	return ocispec.Descriptor{Digest: digest.FromBytes(raw), Size: int64(len(raw))}, raw, nil
}

func (m *memory) Blob(_ context.Context, _ string, desc ocispec.Descriptor, _ int64) (io.ReadCloser, error) {
	text, ok := m.content[desc.Digest]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// add adds content and returns its descriptor.
func (m *memory) add(mediaType, text string) ocispec.Descriptor {
	d := digest.FromString(text)
	m.content[d] = []byte(text)
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(text))}
}

func manifestOf(t *testing.T, layers ...ocispec.Descriptor) string {
	t.Helper()
	text, err := json.Marshal(ocispec.Manifest{Layers: layers})
	fail.On(t, err)
	return string(text)
}

// example returns a repository with an image that has a signature and a bundle.
func example(t *testing.T) (m *memory, img policy.Image, referrers []ocispec.Descriptor) {
	t.Helper()
	m = &memory{tags: map[string][]byte{}, content: map[digest.Digest][]byte{}}
	ref, err := reference.Parse("quay.io/org/app:v1")
	fail.On(t, err)
	img = policy.Image{Reference: ref, Digest: m.add("", `{"schemaVersion":2}`).Digest}
	payload := m.add(cosign.PayloadType, "payload")
	payload.Annotations = map[string]string{cosign.Annotation: "eA==", cosign.CertificateAnnotation: "cert", cosign.ChainAnnotation: "chain", cosign.LogAnnotation: "log"}
	m.tags["quay.io/org/app:"+cosign.Tag(img.Digest)] = []byte(manifestOf(t, payload))
	bundle := m.add("", manifestOf(t, m.add(cosign.BundleType+".v0.3+json", "bundle")))
	bundle.ArtifactType = cosign.BundleType + ".v0.3+json"
	other := m.add("", "sbom")
	other.ArtifactType = "application/spdx+json"
	return m, img, []ocispec.Descriptor{other, bundle}
}

func TestSigstore(t *testing.T) {
	m, img, referrers := example(t)
	f := &Finder{Images: m, Referrers: func(context.Context, policy.Image) ([]ocispec.Descriptor, error) { return referrers, nil }}
	found, err := f.Sigstore(t.Context(), img)
	fail.On(t, err)
	if len(found.Signatures) != 1 || string(found.Signatures[0].Payload) != "payload" || found.Signatures[0].Certificate+found.Signatures[0].Chain+found.Signatures[0].Log != "certchainlog" {
		t.Errorf("signatures %+v", found.Signatures)
	}
	if len(found.Bundles) != 1 || string(found.Bundles[0]) != "bundle" || string(found.Manifest) != `{"schemaVersion":2}` || len(found.Problems) > 0 {
		t.Errorf("bundles %q, manifest %s, problems %v", found.Bundles, found.Manifest, found.Problems)
	}

	delete(m.content, digest.FromString("payload"))
	delete(m.content, digest.FromString("bundle"))
	if found, err := f.Sigstore(t.Context(), img); err != nil || len(found.Problems) != 2 || len(found.Signatures)+len(found.Bundles) > 0 {
		t.Errorf("lost content: %+v, %v", found, err)
	}
	m.tags["quay.io/org/app:"+cosign.Tag(img.Digest)] = []byte("<html>")
	if found, err := f.Sigstore(t.Context(), img); err != nil || len(found.Problems) != 2 {
		t.Errorf("not a manifest: %+v, %v", found, err)
	}
	img.Digest = digest.FromString("unsigned")
	f.Referrers = nil
	if found, err := f.Sigstore(t.Context(), img); err != nil || len(found.Signatures)+len(found.Problems) > 0 {
		t.Errorf("unsigned: %+v, %v", found, err)
	}
	m.err = errors.New("503")
	if _, err := f.Sigstore(t.Context(), img); !errors.Is(err, m.err) {
		t.Error(err)
	}
	if found, err := f.Sigstore(t.Context(), policy.Image{Layout: "/x", Digest: img.Digest}); err != nil || len(found.Signatures) > 0 {
		t.Error(found, err)
	}
}

// TestNames: another reader has other names, and finds tags by itself.
func TestNames(t *testing.T) {
	m, img, _ := example(t)
	signatures := m.tags["quay.io/org/app:"+cosign.Tag(img.Digest)]
	m.tags = map[string][]byte{}
	at, signed := m.add("", string(signatures)).Digest, img.Digest
	f := &Finder{
		Images: m, Source: func(policy.Image) string { return "mirror.example/app" },
		Tag: func(asked policy.Image, tag string) (digest.Digest, error) {
			if asked.Digest != signed || tag != cosign.Tag(img.Digest) {
				return "", fs.ErrNotExist
			}
			return at, nil
		},
	}
	if found, err := f.Sigstore(t.Context(), img); err != nil || len(found.Signatures) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	img.Digest = digest.FromString("other")
	if found, err := f.Sigstore(t.Context(), img); err != nil || len(found.Signatures) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// web is a web server with files.
type web map[string]string

func (w web) Get(_ context.Context, url, _ string, limit int64) ([]byte, error) {
	text, ok := w[url]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case int64(len(text)) > limit:
		return nil, errors.New("too large")
	}
	return []byte(text), nil
}

func TestSimple(t *testing.T) {
	_, img, _ := example(t)
	dir := t.TempDir()
	fail.On(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("docker: {quay.io/org: {lookaside: \"https://sigs.example/x\"}}"), 0o600))
	config, err := registriesd.Open(dir)
	fail.On(t, err)
	at := "https://sigs.example/x/org/app@sha256=" + img.Digest.Encoded() + "/signature-"
	f := &Finder{Registries: config, Get: web{at + "1": "one", at + "2": "two", at + "4": "four"}}
	found, err := f.Simple(t.Context(), img)
	if got := string(bytes.Join(found, []byte(","))); err != nil || got != "one,two" {
		t.Errorf("%s, %v", got, err)
	}

	folder := filepath.Join(t.TempDir(), "org", "app@sha256="+img.Digest.Encoded())
	fail.On(t, os.MkdirAll(folder, 0o700))
	fail.On(t, os.WriteFile(filepath.Join(folder, "signature-1"), []byte("file"), 0o600))
	base := strings.TrimSuffix(folder, filepath.Join("org", filepath.Base(folder)))
	f = &Finder{Lookaside: "file://" + filepath.ToSlash(base)}
	found, err = f.Simple(t.Context(), img)
	if got := string(bytes.Join(found, []byte(","))); err != nil || got != "file" {
		t.Errorf("%s, %v", got, err)
	}
	// What came with the image is used in place of what is stored, also if it is of the rest of an index.
	f.Carried = func(asked policy.Image) ([][]byte, bool) {
		return [][]byte{[]byte("carried")}, asked.Digest == img.Digest
	}
	if found, err := f.Simple(t.Context(), img); err != nil || len(found) != 1 || string(found[0]) != "carried" {
		t.Errorf("%q, %v", found, err)
	}
	f.Carried = func(policy.Image) ([][]byte, bool) { return nil, true }
	if found, err := f.Simple(t.Context(), img); err != nil || len(found) > 0 {
		t.Errorf("%q, %v", found, err)
	}
	f.Carried = func(policy.Image) ([][]byte, bool) { return nil, false }
	if found, err := f.Simple(t.Context(), img); err != nil || len(found) != 1 || string(found[0]) != "file" {
		t.Errorf("%q, %v", found, err)
	}
	if found, err := (&Finder{}).Simple(t.Context(), img); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}
