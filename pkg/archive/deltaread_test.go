package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestDeltaFailures checks what is reported as a failure of a delta: not a full disk, and nothing that a later attempt
// could do.
func TestDeltaFailures(t *testing.T) {
	t.Parallel()
	s := deltaMonths(t, 2, nil)
	a := mustOpen(t, s.dirs[1])
	var problem error
	a.UseBases(func(_ context.Context, base DeltaBase) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(s.samples[0].bytes[base.Digest])), problem
	})
	problem = syscall.ENOSPC
	var failed *DeltaError
	if err := s.rebuilt(t, a, 1); !errors.Is(err, syscall.ENOSPC) || errors.As(err, &failed) || len(a.DeltaFailures()) > 0 {
		t.Errorf("with a full disk: %v, %v", err, a.DeltaFailures())
	}
	problem = errors.New("503 Service Unavailable")
	if err := s.rebuilt(t, a, 1); !errors.As(err, &failed) || len(a.DeltaFailures()) != 1 {
		t.Fatalf("without the base: %v, %v", err, a.DeltaFailures())
	}
	if _, hint := failed.Advice(); !strings.Contains(hint, "run again") {
		t.Errorf("the hint for a mirror that does not answer is %q", hint)
	}
	problem = fs.ErrNotExist
	if err := s.rebuilt(t, a, 1); !errors.As(err, &failed) {
		t.Fatalf("without the base: %v", err)
	}
	if _, hint := failed.Advice(); strings.Contains(hint, "run again") {
		t.Errorf("the hint for a base that is gone is %q", hint)
	}
	problem = nil
	if err := s.rebuilt(t, a, 1); err != nil || len(a.DeltaFailures()) > 0 {
		t.Errorf("at last: %v, %v", err, a.DeltaFailures())
	}
	body, err := a.Blob(t.Context(), "", s.layers[1], 0)
	fail.On(t, err)
	fail.On(t, body.Close())
	if n, err := body.Read(make([]byte, 10)); err == nil || len(a.DeltaFailures()) > 0 {
		t.Errorf("after it was closed: %d bytes, %v, %v", n, err, a.DeltaFailures())
	}
}

// TestTamperedDelta reads deltas that are not what their writer made, in archives that are otherwise intact: wherever the
// difference is, no content is returned to its end, and the error is of one kind.
func TestTamperedDelta(t *testing.T) {
	t.Parallel()
	header := func(change func(h *delta.Header)) func(h *delta.Header, frames []byte) []byte {
		return func(h *delta.Header, frames []byte) []byte { change(h); return frames }
	}
	for name, tamper := range map[string]func(h *delta.Header, frames []byte) []byte{
		"the hash of the content":       header(func(h *delta.Header) { h.ContentHash[0]++ }),
		"the digest of another blob":    header(func(h *delta.Header) { h.Digest = digest.FromString("another") }),
		"the size of another blob":      header(func(h *delta.Header) { h.Size++ }),
		"a shorter content":             header(func(h *delta.Header) { h.ContentSize-- }),
		"a longer content":              header(func(h *delta.Header) { h.ContentSize++ }),
		"a content above the limit":     header(func(h *delta.Header) { h.ContentSize = 1 << 40 }),
		"no recipe":                     header(func(h *delta.Header) { h.Recipe = nil }),
		"a recipe of a later version":   header(func(h *delta.Header) { h.Recipe[0]++ }),
		"no base":                       header(func(h *delta.Header) { h.Bases = nil }),
		"a base that is not announced":  header(func(h *delta.Header) { h.Bases[0].Digest = digest.FromString("another") }),
		"a base that is smaller":        header(func(h *delta.Header) { h.Bases[0].ContentSize-- }),
		"a base that is larger":         header(func(h *delta.Header) { h.Bases[0].ContentSize++ }),
		"a base above the limit":        header(func(h *delta.Header) { h.Bases[0].ContentSize = 1 << 40 }),
		"no frames":                     func(*delta.Header, []byte) []byte { return nil },
		"frames that end too early":     func(_ *delta.Header, b []byte) []byte { return b[:len(b)-1] },
		"frames that go on":             func(_ *delta.Header, b []byte) []byte { return append(b, 0) },
		"frames with a flipped bit":     func(_ *delta.Header, b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"frames with another beginning": func(_ *delta.Header, b []byte) []byte { b[0] ^= 1; return b },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := deltaMonths(t, 1, nil)
			s.write(t, nil, func(t *testing.T, c CarriedDelta) CarriedDelta { return tampered(t, c, tamper) })
			for _, site := range []bool{false, true} {
				a := mustOpen(t, s.dirs[1])
				if site {
					a.UseBases(func(_ context.Context, base DeltaBase) (io.ReadCloser, error) {
						return io.NopCloser(bytes.NewReader(s.samples[0].bytes[base.Digest])), nil
					})
				} else {
					a = mustOpen(t, s.dirs[0], s.dirs[1])
				}
				err := s.rebuilt(t, a, 1)
				if advice.KindOf(err) != advice.Mismatch {
					t.Errorf("from the site: %t: the error is of kind %d: %v", site, advice.KindOf(err), err)
				}
				if f := a.DeltaFailures(); len(f) != 1 {
					t.Errorf("from the site: %t: failures %v", site, f)
				}
			}
		})
	}
}

// tampered returns a delta whose header and frames were changed.
func tampered(t *testing.T, c CarriedDelta, tamper func(h *delta.Header, frames []byte) []byte) CarriedDelta {
	t.Helper()
	file, err := c.Open(t.Context())
	fail.On(t, err)
	h, err := delta.ReadHeader(file)
	fail.On(t, err)
	frames, err := io.ReadAll(file)
	fail.On(t, err)
	frames = tamper(h, frames)
	text, err := h.MarshalBinary()
	fail.On(t, err)
	text = append(text, frames...)
	c.File, c.FileSize = digest.FromBytes(text), int64(len(text))
	c.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	return c
}
