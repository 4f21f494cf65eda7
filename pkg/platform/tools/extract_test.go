package tools

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A store is an image.Reader of one repository, and counts the blobs that are read.
type store struct {
	repository string
	content    map[digest.Digest][]byte
	types      map[digest.Digest]string
	reads      int
}

func newStore() *store {
	return &store{repository: "mirror.example.com/release", content: map[digest.Digest][]byte{}, types: map[digest.Digest]string{}}
}

func (s *store) put(mediaType string, data []byte) ocispec.Descriptor {
	d := digest.FromBytes(data)
	s.content[d], s.types[d] = data, mediaType
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
}

func (s *store) putJSON(t *testing.T, mediaType string, v any) ocispec.Descriptor {
	t.Helper()
	data, err := json.Marshal(v)
	fail.On(t, err)
	return s.put(mediaType, data)
}

func (s *store) Manifest(_ context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	data, ok := s.content[d]
	if !ok || source != s.repository {
		return ocispec.Descriptor{}, nil, fmt.Errorf("manifest %s in %s: %w", d, source, fs.ErrNotExist)
	}
	return ocispec.Descriptor{MediaType: s.types[d], Digest: d, Size: int64(len(data))}, data, nil
}

func (s *store) Blob(_ context.Context, _ string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	data, ok := s.content[desc.Digest]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", desc.Digest, fs.ErrNotExist)
	}
	s.reads++
	return io.NopCloser(bytes.NewReader(data[offset:])), nil
}

// layer returns a layer. "a" is a file, "a -> b" a symbolic link, "a = b" a hard link and "a/" a
// folder; files have the content in files.
func layer(t *testing.T, names []string, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range names {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(files[name]))}
		if from, to, ok := strings.Cut(name, " -> "); ok {
			h.Typeflag, h.Name, h.Linkname = tar.TypeSymlink, from, to
		} else if from, to, ok := strings.Cut(name, " = "); ok {
			h.Typeflag, h.Name, h.Linkname = tar.TypeLink, from, to
		} else if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		fail.On(t, w.WriteHeader(h))
		_, err := io.WriteString(w, files[name])
		fail.On(t, err)
	}
	fail.On(t, w.Close())
	return out.Bytes()
}

// image puts an image of layers, the lowest first.
func (s *store) image(t *testing.T, arch release.Arch, layers ...[]byte) ocispec.Descriptor {
	t.Helper()
	config := ocispec.Image{Platform: ocispec.Platform{OS: "linux", Architecture: string(arch)}}
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest}
	m.SchemaVersion = 2
	for _, data := range layers {
		m.Layers = append(m.Layers, s.put(ocispec.MediaTypeImageLayer, data))
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, digest.FromBytes(data))
	}
	m.Config = s.putJSON(t, ocispec.MediaTypeImageConfig, config)
	d := s.putJSON(t, ocispec.MediaTypeImageManifest, m)
	d.Platform = &config.Platform
	return d
}

func component(name string, d digest.Digest) payload.Component {
	return payload.Component{Names: []string{name}, Ref: "quay.io/example/content@" + d.String(), Digest: d}
}

const releaseImage = "quay.io/example/release@sha256:0000000000000000000000000000000000000000000000000000000000000000"

// extracted extracts tools and returns their content by file name, and notes.
func extracted(t *testing.T, s *store, p *payload.Payload, names []string, on ...release.ToolPlatform) (map[string]string, []string, error) {
	t.Helper()
	list, _, err := Select(p, names, on)
	fail.On(t, err)
	files, open, notes := map[string]string{}, map[*Tool]*memory{}, []string(nil)
	o := Options{ReleaseImage: releaseImage, Sources: func(c *payload.Component) []string {
		return []string{strings.SplitN(c.Ref, "@", 2)[0], s.repository} // only the second has it
	}}
	err = Extract(t.Context(), s, p, list, o, func(x *Tool) (Output, error) {
		open[x] = &memory{}
		return open[x], nil
	}, func(x Extracted) error {
		data := open[x.Tool].data
		if x.Size != int64(len(data)) || x.Digest != digest.FromBytes(data) {
			t.Errorf("%s has %d bytes and digest %s, not %d and %s", x.Name, len(data), digest.FromBytes(data), x.Size, x.Digest)
		}
		files[x.File(p.Version, p.Arch)], notes = string(data), append(notes, x.Notes...)
		return nil
	})
	return files, notes, err
}

func TestExtract(t *testing.T) {
	s := newStore()
	program := func(name string, placeholders ...placeholder) string {
		text := name
		for _, ph := range placeholders {
			text += "|" + ph.text
		}
		return text + "|end of " + name
	}
	installer := program("installer", inArchitecture, inImage, inVersion)
	client := program("client", inVersion)
	mac := string(machO([]byte(client)))
	p := releaseOf("amd64")
	p.Components = []payload.Component{
		component("cli", s.image(t, "amd64",
			layer(t, []string{"usr/", "usr/bin/", "usr/bin/oc"}, map[string]string{"usr/bin/oc": "an old one"}),
			layer(t, []string{"usr/bin/oc", "usr/bin/kubectl = usr/bin/oc"}, map[string]string{"usr/bin/oc": client})).Digest),
		component("installer", s.image(t, "amd64", layer(t, []string{"bin/", "usr -> .", "bin/openshift-install"}, map[string]string{"bin/openshift-install": installer})).Digest),
		component("oc-mirror", s.image(t, "amd64",
			layer(t, []string{"usr/bin/oc-mirror.rhel9"}, map[string]string{"usr/bin/oc-mirror.rhel9": "oc-mirror of RHEL 9"}),
			layer(t, []string{"usr/bin/oc-mirror -> oc-mirror.rhel9", "etc/x"}, nil)).Digest),
		component("cli-artifacts", s.image(t, "amd64",
			layer(t, []string{"usr/share/openshift/windows/first", "usr/share/openshift/windows/oc.exe = usr/share/openshift/windows/first", "usr/share/openshift/mac_arm64/oc"},
				map[string]string{"usr/share/openshift/windows/first": client, "usr/share/openshift/mac_arm64/oc": mac}),
			layer(t, []string{"etc/y"}, nil)).Digest),
	}
	all := []release.ToolPlatform{{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "windows", Arch: "amd64"}}
	got, notes, err := extracted(t, s, p, []string{"oc", "openshift-install", "oc-mirror"}, all[0])
	if err != nil || notes != nil {
		t.Fatal(err, notes)
	}
	patchedBy := func(text string) string {
		return string(replaced([]byte(text), patch{placeholder: inImage, value: releaseImage}, patch{placeholder: inVersion, value: "4.20.5"}, patch{placeholder: inArchitecture, value: "linux/amd64"}))
	}
	want := map[string]string{
		"oc-4.20.5-linux-amd64":                patchedBy(client),
		"openshift-install-4.20.5-linux-amd64": patchedBy(installer),
		"oc-mirror-4.20.5-linux-amd64":         "oc-mirror of RHEL 9",
	}
	fail.Diff(t, want, got)
	if !strings.Contains(want["openshift-install-4.20.5-linux-amd64"], releaseImage+"\x00") {
		t.Error("the test replaces nothing")
	}
	got, notes, err = extracted(t, s, p, []string{"oc"}, all...)
	if err != nil || notes != nil {
		t.Fatal(err, notes)
	}
	signed := &memory{[]byte(patchedBy(mac))}
	fail.On(t, resign(signed))
	want = map[string]string{
		"oc-4.20.5-linux-amd64": patchedBy(client), "oc-4.20.5-windows-amd64.exe": patchedBy(client), "oc-4.20.5-darwin-arm64": string(signed.data),
	}
	fail.Diff(t, want, got)

	// The client is in the uppermost layer, so the other one is not read.
	s.reads = 0
	if _, _, err := extracted(t, s, p, []string{"oc"}, all[0]); err != nil || s.reads != 2 {
		t.Errorf("%v; %d blobs were read, want the config and one layer", err, s.reads)
	}
}

// TestExtractMulti reads programs of the image for their architecture.
func TestExtractMulti(t *testing.T) {
	s := newStore()
	index := func(path string, arches ...release.Arch) digest.Digest {
		var list ocispec.Index
		list.SchemaVersion, list.MediaType = 2, ocispec.MediaTypeImageIndex
		for _, arch := range arches {
			list.Manifests = append(list.Manifests, s.image(t, arch, layer(t, []string{path}, map[string]string{path: string(arch) + inVersion.text + inArchitecture.text + inImage.text})))
		}
		return s.putJSON(t, ocispec.MediaTypeImageIndex, list).Digest
	}
	p := releaseOf(release.Multi)
	p.Components = []payload.Component{
		component("installer", index("usr/bin/openshift-install", "arm64", "amd64", "s390x")),
		component("installer-artifacts", index("usr/share/openshift/mac/openshift-install", "arm64", "amd64")),
	}
	names := []string{"openshift-install"}
	got, _, err := extracted(t, s, p, names, release.ToolPlatform{OS: "linux", Arch: "arm64"}, release.ToolPlatform{OS: "linux", Arch: "s390x"}, release.ToolPlatform{OS: "darwin", Arch: "amd64"})
	fail.On(t, err)
	for file, want := range map[string][2]string{
		"openshift-install-4.20.5-multi-linux-arm64":  {"arm64", "multi (linux/arm64)"},
		"openshift-install-4.20.5-multi-linux-s390x":  {"s390x", "multi (linux/s390x)"},
		"openshift-install-4.20.5-multi-darwin-amd64": {"amd64", "multi (linux/amd64)"},
	} {
		if text := got[file]; !strings.HasPrefix(text, want[0]+"4.20.5\x00") || !strings.Contains(text, want[1]+"\x00") {
			t.Errorf("%s is %q", file, text)
		}
	}
	if _, _, err := extracted(t, s, p, names, release.ToolPlatform{OS: "linux", Arch: "ppc64le"}); err == nil || !strings.Contains(err.Error(), "no image for linux/ppc64le that exists (it has linux/amd64, linux/arm64, linux/s390x)") {
		t.Error(err)
	}
}

func TestExtractRefuses(t *testing.T) {
	whole := layer(t, []string{"usr/bin/openshift-install", "usr/bin/oc"}, map[string]string{"usr/bin/openshift-install": inImage.text, "usr/bin/oc": "no placeholder"})
	for name, tc := range map[string]struct {
		layers [][]byte
		damage bool
		want   string
	}{
		"empty":             {[][]byte{layer(t, []string{"etc/x"}, nil)}, false, "the image has no /usr/bin/openshift-install, which would be openshift-install for linux/amd64"},
		"deleted":           {[][]byte{whole, layer(t, []string{"usr/bin/.wh.openshift-install"}, nil)}, false, "the image has no /usr/bin/openshift-install"},
		"hidden":            {[][]byte{whole, layer(t, []string{"usr/.wh..wh..opq"}, nil)}, false, "the image has no /usr/bin/openshift-install"},
		"a folder":          {[][]byte{layer(t, []string{"usr/bin/openshift-install/"}, nil)}, false, "the image has no /usr/bin/openshift-install"},
		"a link to nothing": {[][]byte{layer(t, []string{"usr/bin/openshift-install -> /opt/x"}, nil)}, false, "leads to \"opt\", which does not exist"},
		"a loop":            {[][]byte{layer(t, []string{"usr/bin/openshift-install -> openshift-install"}, nil)}, false, "does not end after 40 steps"},
		"no placeholder":    {[][]byte{layer(t, []string{"usr/bin/openshift-install"}, map[string]string{"usr/bin/openshift-install": inVersion.text})}, false, "/usr/bin/openshift-install: the program has no placeholder for the release image, so it would install another release"},
		"damaged":           {[][]byte{whole}, true, "it unpacks to sha256:"},
	} {
		s := newStore()
		d := s.image(t, "amd64", tc.layers...)
		if tc.damage {
			s.content[digest.FromBytes(whole)] = bytes.Replace(whole, []byte("no placeholder"), []byte("no placeholdar"), 1)
		}
		p := releaseOf("amd64")
		p.Components = []payload.Component{component("installer", d.Digest)}
		files, _, err := extracted(t, s, p, []string{"openshift-install"})
		if err == nil || !strings.Contains(err.Error(), tc.want) || len(files) > 0 {
			t.Errorf("%s: got %v and %d files, want %s", name, err, len(files), tc.want)
		}
	}
	s := newStore()
	p := releaseOf("amd64")
	p.Components = []payload.Component{component("cli", s.image(t, "amd64", whole).Digest)}
	files, notes, err := extracted(t, s, p, []string{"oc"})
	if err != nil || len(files) != 1 || len(notes) != 1 || notes[0] != "oc for linux/amd64 has no placeholder for the release version" {
		t.Error(err, notes)
	}
	p.Components[0].Digest = digest.FromString("missing")
	if _, _, err := extracted(t, s, p, []string{"oc"}); err == nil || !strings.Contains(err.Error(), "extracting tools of release 4.20.5-x86_64 from image cli: manifest") {
		t.Error(err)
	}
}
