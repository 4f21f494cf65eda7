package registriesd

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// FuzzAdd reads files of registries.d. The address of a signature stays in the folder that the file names.
func FuzzAdd(f *testing.F) {
	f.Add([]byte("default-docker:\n  lookaside: https://example.com/sigs\ndocker:\n  quay.io/a:\n    use-sigstore-attachments: true\n"))
	f.Add([]byte("docker: {quay.io: {sigstore: 'file:///var'}, '*.io': {}}\n"))
	ref, err := reference.Parse("quay.io/a/b:v1")
	fail.On(f, err)
	d := digest.FromString("x")
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &Config{sections: map[string]section{}, from: map[string]string{}}
		if c.add("a.yaml", text) != nil {
			return
		}
		c.Attachments(ref)
		if at := c.Lookaside(ref, d); at != "" && !strings.HasSuffix(at, "/a/b@sha256="+d.Encoded()+"/signature-") {
			t.Errorf("the address is %q", at)
		}
	})
}
