package tools

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// patched writes data through a patcher in pieces of a size.
func patched(t testing.TB, data []byte, size int, patches ...patch) ([]byte, []string) {
	t.Helper()
	var out bytes.Buffer
	p, err := newPatcher(&out, patches)
	fail.On(t, err)
	for rest := data; len(rest) > 0; {
		n := min(size, len(rest))
		_, err := p.Write(rest[:n])
		fail.On(t, err)
		rest = rest[n:]
	}
	fail.On(t, p.Close())
	return out.Bytes(), p.missing()
}

// replaced is what a patcher has to write, by the simplest means.
func replaced(data []byte, patches ...patch) []byte {
	out := bytes.Clone(data)
	for _, p := range patches {
		if at := bytes.Index(out, []byte(p.text)); at >= 0 {
			copy(out[at:], p.value+"\x00")
		}
	}
	return out
}

func TestPlaceholdersAreThoseOfOC(t *testing.T) {
	for _, tc := range []struct {
		placeholder
		prefix string
		length int
	}{
		{inImage, "\x00_RELEASE_IMAGE_LOCATION_\x00XX", 327},
		{inVersion, "\x00_RELEASE_VERSION_LOCATION_\x00XX", 93},
		{inArchitecture, "\x00_RELEASE_ARCHITECTURE_LOCATION_\x00XX", 98},
	} {
		if !strings.HasPrefix(tc.text, tc.prefix) || !strings.HasSuffix(tc.text, "X\x00") || len(tc.text) != tc.length {
			t.Errorf("%s: %q has %d bytes", tc.name, tc.text, len(tc.text))
		}
	}
}

func TestPatch(t *testing.T) {
	image := patch{placeholder: inImage, value: "quay.io/example/release@sha256:" + strings.Repeat("a", 64)}
	version := patch{placeholder: inVersion, value: "4.20.5"}
	filler := func(n int) string { return strings.Repeat("\x00X_RELEASE_", n/11+1)[:n] }
	for name, text := range map[string]string{
		"both":           "head" + inVersion.text + "middle" + inImage.text + "tail",
		"adjacent":       inImage.text + inVersion.text,
		"only the first": "a" + inVersion.text + "b" + inVersion.text + inImage.text,
		"none":           "nothing here",
		"empty":          "",
		"at the end":     filler(3*patchBuffer) + inImage.text + inVersion.text,
		"at the edge":    filler(patchBuffer-100) + inImage.text + filler(2*patchBuffer) + inVersion.text + filler(700_000),
		"cut off":        inVersion.text + inImage.text[:300],
	} {
		for _, size := range []int{1, 7, 4096, patchBuffer - 1, patchBuffer, 1 << 22} {
			if size == 1 && len(text) > 2*patchBuffer {
				continue
			}
			got, missing := patched(t, []byte(text), size, image, version)
			if want := replaced([]byte(text), image, version); !bytes.Equal(got, want) {
				t.Errorf("%s, in pieces of %d: %d bytes are not the expected %d", name, size, len(got), len(want))
			}
			var want []string
			for _, p := range []patch{image, version} {
				if !strings.Contains(text, p.text) {
					want = append(want, p.name)
				}
			}
			fail.Diff(t, want, missing)
		}
	}
	if _, err := newPatcher(io.Discard, []patch{{placeholder: inVersion, value: strings.Repeat("4", 93)}}); err == nil || !strings.Contains(err.Error(), "93 bytes") {
		t.Errorf("a value without room: %v", err)
	}
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte("a"), []byte("b"), []byte("c"), 3)
	f.Add([]byte{0}, []byte(inImage.text[:50]), []byte{0}, 100)
	f.Fuzz(func(t *testing.T, a, b, c []byte, size int) {
		data := bytes.Join([][]byte{a, []byte(inVersion.text), b, []byte(inImage.text), c}, nil)
		patches := []patch{{placeholder: inImage, value: "quay.io/a/b:c"}, {placeholder: inVersion, value: "4.20.5"}}
		got, missing := patched(t, data, max(1, size%1000), patches...)
		if want := replaced(data, patches...); !bytes.Equal(got, want) || len(missing) > 0 {
			t.Errorf("got %q, want %q, missing %v", got, want, missing)
		}
	})
}
