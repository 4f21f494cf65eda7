package mirror

import (
	"io"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// TestReadersForwardVerification checks that readers that wrap a source forward two properties:
// content that the source compares with its digest need not be hashed again, and an upload that
// continues from another source needs the hash of what was read.
func TestReadersForwardVerification(t *testing.T) {
	const text = "the content of a blob"
	desc := ocispec.Descriptor{Digest: digest.FromString(text), Size: int64(len(text))}
	other := ocispec.Descriptor{Digest: digest.FromString("x"), Size: 1}
	plain := io.NopCloser(strings.NewReader(text))
	compared, err := layout.Verified(t.Context(), plain, desc, "it")
	fail.On(t, err)
	for name, wrap := range map[string]func(io.ReadCloser) io.ReadCloser{
		"counted":    func(r io.ReadCloser) io.ReadCloser { return &sourceReader{ReadCloser: r, transfer: &transfer{}} },
		"cachedBlob": func(r io.ReadCloser) io.ReadCloser { return &cachedBlob{ReadCloser: r} },
	} {
		whole, err := layout.Verified(t.Context(), io.NopCloser(strings.NewReader(text)), desc, "it")
		fail.On(t, err)
		_, err = io.CopyN(io.Discard, wrap(whole), 5)
		fail.On(t, err)
		if h, n := layout.Hashed(wrap(whole)); h == nil || n != 5 {
			t.Errorf("%s does not forward the hash of what was read (%d bytes)", name, n)
		}
		if !layout.Verifies(wrap(compared), desc) {
			t.Errorf("%s does not report that the bytes are compared", name)
		}
		if layout.Verifies(wrap(compared), other) || layout.Verifies(wrap(plain), desc) {
			t.Errorf("%s reports that the bytes are compared, but they are not", name)
		}
	}
}
