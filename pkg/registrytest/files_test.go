package registrytest

import (
	"archive/tar"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestFilesImage checks that an image has the files of each layer in the given order, and that a
// manifest list of such images can be pulled.
func TestFilesImage(t *testing.T) {
	t.Parallel()
	var images []v1.Image
	for _, arch := range []string{"amd64", "s390x"} {
		img, err := FilesImage(v1.Platform{OS: "linux", Architecture: arch}, v1.Config{Labels: map[string]string{"a": arch}},
			[]File{{Name: "below", Data: []byte(arch)}},
			[]File{{Name: "z/", Mode: 0o777}, {Name: "z/second", Mode: 0o444}, {Name: "a"}})
		fail.On(t, err)
		images = append(images, img)
	}
	layers, err := images[0].Layers()
	if err != nil || len(layers) != 2 {
		t.Fatalf("%d layers, %v, want 2", len(layers), err)
	}
	rc, err := layers[1].Uncompressed()
	fail.On(t, err)
	type entry struct {
		Name string
		Mode int64
	}
	var got []entry
	for tr := tar.NewReader(rc); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		fail.On(t, err)
		got = append(got, entry{h.Name, h.Mode})
	}
	if diff := cmp.Diff([]entry{{"z/", 0o777}, {"z/second", 0o444}, {"a", 0o644}}, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}

	list, err := ImageIndex(false, images...)
	fail.On(t, err)
	m, err := list.IndexManifest()
	if err != nil || len(m.Manifests) != 2 || m.Manifests[1].Platform.Architecture != "s390x" {
		t.Errorf("manifest list %+v, %v, want one for amd64 and s390x", m, err)
	}
	s := New(t, Options{})
	if _, err := s.Client().Push(t.Context(), "some/list", "v1", list); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Client().Pull(t.Context(), "some/list", "v1"); err != nil || p.Manifests != 3 {
		t.Errorf("pulled %d manifests, %v, want 3", p.Manifests, err)
	}
}

// TestServe checks that the front logs the requests to any server and applies faults to them.
func TestServe(t *testing.T) {
	t.Parallel()
	s := Serve(t, Options{TLS: true, Rules: []Rule{{Path: "^/b$", Action: Page()}}}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	client := s.Client().http
	for path, want := range map[string]int{"/a": http.StatusTeapot, "/b": http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, http.NoBody)
		fail.On(t, err)
		resp, err := client.Do(req)
		fail.On(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET %s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	if n := len(s.Log()); n != 2 {
		t.Errorf("%d requests in the log, want 2", n)
	}
}
