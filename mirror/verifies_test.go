package mirror

import (
	"io"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
)

// What a source compares with its digest, no sink has to hash again: the
// readers in between hand that on.
func TestReadersHandOnThatBytesAreCompared(t *testing.T) {
	const text = "the content of a blob"
	desc := ocispec.Descriptor{Digest: digest.FromString(text), Size: int64(len(text))}
	other := ocispec.Descriptor{Digest: digest.FromString("x"), Size: 1}
	plain := io.NopCloser(strings.NewReader(text))
	compared, err := layout.Verified(t.Context(), plain, desc, "it")
	if err != nil {
		t.Fatal(err)
	}
	for name, wrap := range map[string]func(io.ReadCloser) io.ReadCloser{
		"counted":    func(r io.ReadCloser) io.ReadCloser { return &counted{ReadCloser: r} },
		"cachedBlob": func(r io.ReadCloser) io.ReadCloser { return &cachedBlob{ReadCloser: r} },
	} {
		if !layout.Verifies(wrap(compared), desc) {
			t.Errorf("%s keeps to itself that the bytes are compared", name)
		}
		if layout.Verifies(wrap(compared), other) || layout.Verifies(wrap(plain), desc) {
			t.Errorf("%s says that bytes are compared which are not", name)
		}
	}
}
