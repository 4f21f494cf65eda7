package registrytest

import (
	"os"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// servers are the registries that have to behave alike for clients.
var servers = []struct {
	name  string
	start func(testing.TB, Options) *Server
	o     Options
}{
	{"memory", New, Options{}},
	{"memory TLS", New, Options{TLS: true}},
	{"process", Start, Options{}},
	{"process TLS", Start, Options{TLS: true}},
	{"process basic", Start, Options{Auth: BasicAuth}},
	{"process token", Start, Options{Auth: TokenAuth}},
	{"process token TLS", Start, Options{TLS: true, Auth: TokenAuth}},
}

func TestPushAndPull(t *testing.T) {
	t.Parallel()
	want, err := AttestedIndex("push-and-pull")
	fail.On(t, err)
	for _, tc := range servers {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := tc.start(t, tc.o)
			c := s.Client()
			d, err := c.Push(t.Context(), "org/app", "v1", want)
			fail.On(t, err)
			for _, name := range []string{"v1", d.String()} {
				got, err := c.Pull(t.Context(), "org/app", name)
				fail.On(t, err)
				if got.Digest != d || got.Manifests != 4 || got.Blobs < 8 {
					t.Errorf("pulled %+v, want digest %s, 4 manifests and at least 8 blobs", got, d)
				}
			}
			if _, err := c.Pull(t.Context(), "org/app", "v2"); err == nil {
				t.Error("pulling a tag that was not pushed succeeded")
			}
		})
	}
}

// TestStorage checks that a registry begins with the content that another one kept, and that
// changes to it do not affect other registries.
func TestStorage(t *testing.T) {
	img, err := SizedImage("kept", 1000)
	fail.On(t, err)
	first := Start(t, Options{Alone: true})
	want, err := first.Client().Push(t.Context(), "a/b", "v1", img)
	fail.On(t, err)
	kept, err := first.Keep()
	fail.On(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(kept) })
	second, third := Start(t, Options{Storage: kept}), Start(t, Options{Storage: kept})
	other, err := SizedImage("other", 1000)
	fail.On(t, err)
	_, err = second.Client().Push(t.Context(), "a/b", "v1", other)
	fail.On(t, err)
	for _, s := range []*Server{first, third} {
		got, err := s.Client().Pull(t.Context(), "a/b", "v1")
		if err != nil || got.Digest != want {
			t.Errorf("a/b:v1 is %s, want %s: %v", got.Digest, want, err)
		}
	}
}
