package site_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// TestMirrorImages reads an image of a mirror, each manifest and blob once, and finds a blob that is damaged or missing.
func TestMirrorImages(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	img, err := registrytest.SizedImage("app", 2000)
	fail.On(t, err)
	d, err := s.Mirror.Client().Push(t.Context(), "site/app", "v1", img)
	fail.On(t, err)
	client, err := s.Env.Client(remote.Destination)
	fail.On(t, err)
	at := s.Mirror.Host + "/site/app"
	m := site.NewMirrorImages(client)
	if desc, err := m.Resolve(t.Context(), at+":v1"); err != nil || desc.Digest != d {
		t.Errorf("v1 is %s, want %s: %v", desc.Digest, d, err)
	}
	if tags, err := m.Tags(t.Context(), at); err != nil || !slices.Equal(tags, []string{"v1"}) {
		t.Errorf("tags %q, %v", tags, err)
	}
	s.Mirror.ResetLog()
	for range 2 {
		if _, raw, err := m.Manifest(t.Context(), at, d); err != nil || digest.FromBytes(raw) != d {
			t.Errorf("%d bytes, %v", len(raw), err)
		}
		for _, read := range []bool{false, true} {
			if problem, err := m.BlobProblem(t.Context(), at+"@"+d.String(), read); err != nil || problem != "" {
				t.Errorf("%s, %v", problem, err)
			}
		}
	}
	if all := mirrortest.Requests(s.Mirror); len(all) != 3 {
		t.Errorf("a manifest and two blobs were requested with %q", all)
	}
	layers, err := img.Layers()
	fail.On(t, err)
	hash, err := layers[0].Digest()
	fail.On(t, err)
	problem := func(read bool) string {
		t.Helper()
		problem, err := site.NewMirrorImages(client).BlobProblem(t.Context(), at+"@"+d.String(), read)
		if err != nil {
			t.Error(err)
		}
		return problem
	}
	s.Mirror.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/" + hash.String(), Action: registrytest.WrongBytes()})
	if got := problem(true); !strings.HasPrefix(got, "its blob "+hash.String()+" is damaged: ") {
		t.Error(got)
	}
	s.Mirror.Script(registrytest.Rule{Path: "/blobs/" + hash.String(), Action: registrytest.Status(http.StatusNotFound)})
	for _, read := range []bool{false, true} {
		if got := problem(read); got != "its blob "+hash.String()+" is missing" {
			t.Error(got)
		}
	}
	for _, source := range []string{"UPPER", at + "@sha256:12"} {
		_, _, manifestErr := m.Manifest(t.Context(), source, "")
		_, blobErr := m.Blob(t.Context(), source, ocispec.Descriptor{}, 0)
		_, resolveErr := m.Resolve(t.Context(), source)
		_, tagsErr := m.Tags(t.Context(), source)
		if manifestErr == nil || blobErr == nil || resolveErr == nil || tagsErr == nil {
			t.Errorf("%s is a reference", source)
		}
	}
}

// TestLayoutReader reads a layout, in which content is found by its digest.
func TestLayoutReader(t *testing.T) {
	t.Parallel()
	l, err := layout.Create(t.TempDir(), layout.Options{})
	fail.On(t, err)
	const text = `{"schemaVersion":2}`
	desc := ocispec.Descriptor{Digest: digest.FromString(text), Size: int64(len(text))}
	fail.On(t, l.Put(t.Context(), desc, strings.NewReader(text)))
	r := site.LayoutReader{Layout: l}
	if got, raw, err := r.Manifest(t.Context(), "", desc.Digest); err != nil || string(raw) != text || got.Size != desc.Size {
		t.Errorf("%+v, %s, %v", got, raw, err)
	}
	body, err := r.Blob(t.Context(), "", desc, 2)
	fail.On(t, err)
	if rest, err := io.ReadAll(body); errors.Join(err, body.Close()) != nil || string(rest) != text[2:] {
		t.Errorf("%s, %v", rest, err)
	}
	if _, _, err := r.Manifest(t.Context(), "", digest.FromString("absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a manifest that is absent: %v", err)
	}
}

// TestOpenMirror opens a mirror, and nothing else.
func TestOpenMirror(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	if r, err := site.OpenMirror(s.Env, s.Docker("site"), site.DestinationOptions{}); err != nil || r.String() != s.Docker("site") {
		t.Errorf("%+v, %v", r, err)
	}
	_, err := site.OpenMirror(s.Env, s.Archive("disk"), site.DestinationOptions{})
	mirrortest.Refused(t, err, advice.Input, "docker://HOST[:PORT][/PREFIX]")
	runs := []state.Run{{Mirror: "b", Destination: "docker://b"}, {Destination: "file:///disk"}, {Mirror: "a", Destination: "docker://a"}, {Mirror: "b", Destination: "docker://b"}}
	if got := site.MirrorsOf(runs); !slices.Equal(got, []string{"docker://a", "docker://b"}) {
		t.Errorf("mirrors %q", got)
	}
}
