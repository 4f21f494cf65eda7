package layout

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestWriteIndexIsEncodeIndex checks that WriteIndex writes the same bytes that encodeIndex
// returns, for any number of manifests.
func TestWriteIndexIsEncodeIndex(t *testing.T) {
	var manifests []ocispec.Descriptor
	for n := range 4 {
		var b bytes.Buffer
		fail.On(t, WriteIndex(&b, slices.Values(manifests)))
		want, err := encodeIndex(ocispec.Index{Manifests: manifests})
		fail.On(t, err)
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%d manifests: %s, want %s", n, b.Bytes(), want)
		}
		manifests = append(manifests, ocispec.Descriptor{
			MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString(fmt.Sprint(n)), Size: int64(n),
			Annotations: map[string]string{ocispec.AnnotationRefName: fmt.Sprintf("org/<name>&%d:v1", n)},
		})
	}
}
