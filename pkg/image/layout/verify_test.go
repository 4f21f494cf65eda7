package layout

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestCorruptBlobs(t *testing.T) {
	const text = "the content of a blob"
	for name, tc := range map[string]struct {
		bytes  string
		reason string
	}{
		"altered":   {"the content of a bl0b", "its digest is"},
		"truncated": {"the content", "11 bytes instead of 21"},
		"extended":  {text + "!", "22 bytes instead of 21"},
	} {
		t.Run(name, func(t *testing.T) {
			l, dir := newLayout(t)
			desc := describe(text)
			path := filepath.Join(dir, "blobs", "sha256", desc.Digest.Encoded())
			fail.On(t, os.WriteFile(path, []byte(tc.bytes), 0o644))
			raw, err := l.Read(t.Context(), desc, 100)
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) || raw != nil {
				t.Fatalf("Read = %q, %v", raw, err)
			}
			if corrupt.Where != path || corrupt.Digest != desc.Digest || !strings.Contains(corrupt.Problem, tc.reason) {
				t.Errorf("the error says %+v, want %q", corrupt, tc.reason)
			}
			fail.On(t, l.Remove(desc))
			fail.On(t, l.Put(t.Context(), desc, strings.NewReader(text)))
			_, err = l.Read(t.Context(), desc, 100)
			fail.On(t, err)
		})
	}
}

// TestCorruptBlobReadFull checks that altered bytes are detected even if the caller reads only the
// expected number of bytes and never reaches the end of the file.
func TestCorruptBlobReadFull(t *testing.T) {
	l, dir := newLayout(t)
	desc := describe("content")
	fail.On(t, os.WriteFile(filepath.Join(dir, "blobs", "sha256", desc.Digest.Encoded()), []byte("c0ntent"), 0o644))
	body, err := l.Blob(t.Context(), desc, 0)
	fail.On(t, err)
	defer body.Close()
	if _, err := io.ReadFull(body, make([]byte, desc.Size)); err == nil {
		t.Error("ReadFull passed altered bytes")
	}
}

func TestVerifiedIsAReader(t *testing.T) {
	text := strings.Repeat("0123456789", 1000)
	for _, body := range []io.Reader{strings.NewReader(text), iotest.DataErrReader(strings.NewReader(text)), iotest.HalfReader(strings.NewReader(text))} {
		v, err := Verified(t.Context(), io.NopCloser(body), describe(text), "it")
		fail.On(t, err)
		fail.On(t, iotest.TestReader(v, []byte(text)))
	}
}

// sure is a reader that claims to compare its bytes with desc.
type sure struct {
	io.Reader
	desc   ocispec.Descriptor
	closed bool
}

func (s *sure) Verifies(desc ocispec.Descriptor) bool { return s.desc.Digest == desc.Digest }
func (s *sure) Close() error                          { s.closed = true; return nil }

func TestBytesAreHashedOnce(t *testing.T) {
	const text, other = "content", "c0ntent"
	body := &sure{Reader: strings.NewReader(text), desc: describe(text)}
	if got, err := Verified(t.Context(), body, describe(text), "it"); err != nil || got != body {
		t.Errorf("Verified = %v, %v, want the reader itself", got, err)
	}
	if got, err := Verified(t.Context(), body, describe(other), "it"); err != nil || got == body {
		t.Errorf("Verified for other content = %v, %v, want another reader", got, err)
	}
	l, _ := newLayout(t)
	// Altered bytes are accepted, because they are not hashed again.
	body = &sure{Reader: strings.NewReader(other), desc: describe(text)}
	if err := l.Put(t.Context(), describe(text), body); err != nil || body.closed {
		t.Errorf("Put = %v, closed: %t", err, body.closed)
	}
	body = &sure{Reader: strings.NewReader(text), desc: describe(text)}
	if err := l.Put(t.Context(), describe("another"), body); err == nil {
		t.Error("bytes of other content were put")
	}
}

// TestMeasured checks that content of another length is refused, from any offset, and that nothing
// else is compared.
func TestMeasured(t *testing.T) {
	const text, altered = "the content of a blob", "the c0ntent of a blob"
	desc := describe(text)
	for _, tc := range []struct {
		body    string
		offset  int64
		problem string
	}{
		{body: text},
		{body: altered},
		{body: text[5:], offset: 5},
		{body: "", offset: desc.Size},
		{body: text[:9], problem: "it ends after 9 of 21 bytes"},
		{body: text[5:9], offset: 5, problem: "it ends after 9 of 21 bytes"},
		{body: text + "!", problem: "it goes on after 21 bytes"},
		{body: "!", offset: desc.Size, problem: "it goes on after 21 bytes"},
	} {
		r, err := Measured(t.Context(), io.NopCloser(strings.NewReader(tc.body)), desc, tc.offset, "it")
		fail.On(t, err)
		if Verifies(r, desc) {
			t.Error("the reader reports that it compares the content")
		}
		got, err := io.ReadAll(r)
		var corrupt *CorruptError
		switch {
		case tc.problem == "" && (err != nil || string(got) != tc.body):
			t.Errorf("%q from %d: %q, %v", tc.body, tc.offset, got, err)
		case tc.problem != "" && (!errors.As(err, &corrupt) || corrupt.Problem != tc.problem || int64(len(got))+tc.offset >= desc.Size && tc.offset < desc.Size):
			t.Errorf("%q from %d: %q, %v", tc.body, tc.offset, got, err)
		}
	}
	for _, offset := range []int64{-1, desc.Size + 1} {
		if _, err := Measured(t.Context(), io.NopCloser(strings.NewReader(text)), desc, offset, "it"); err == nil {
			t.Errorf("offset %d was accepted", offset)
		}
	}
}
