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
)

// TestDeltaFailures checks what is reported as a failure of a delta: not a full disk, and nothing that a later attempt
// could do.
func TestDeltaFailures(t *testing.T) {
	t.Parallel()
	s := deltaMonths(t, 2, nil)
	a := mustOpen(t, s.dirs[1])
	var fail error
	a.UseBases(func(_ context.Context, base DeltaBase) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(s.samples[0].bytes[base.Digest])), fail
	})
	fail = syscall.ENOSPC
	var failed *DeltaError
	if err := s.rebuilt(t, a, 1); !errors.Is(err, syscall.ENOSPC) || errors.As(err, &failed) || len(a.DeltaFailures()) > 0 {
		t.Errorf("with a full disk: %v, %v", err, a.DeltaFailures())
	}
	fail = errors.New("503 Service Unavailable")
	if err := s.rebuilt(t, a, 1); !errors.As(err, &failed) || len(a.DeltaFailures()) != 1 {
		t.Fatalf("without the base: %v, %v", err, a.DeltaFailures())
	}
	if _, hint := failed.Advice(); !strings.Contains(hint, "run again") {
		t.Errorf("the hint for a mirror that does not answer is %q", hint)
	}
	fail = fs.ErrNotExist
	if err := s.rebuilt(t, a, 1); !errors.As(err, &failed) {
		t.Fatalf("without the base: %v", err)
	}
	if _, hint := failed.Advice(); strings.Contains(hint, "run again") {
		t.Errorf("the hint for a base that is gone is %q", hint)
	}
	fail = nil
	if err := s.rebuilt(t, a, 1); err != nil || len(a.DeltaFailures()) > 0 {
		t.Errorf("at last: %v, %v", err, a.DeltaFailures())
	}
	body, err := a.Blob(t.Context(), "", s.layers[1], 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	if n, err := body.Read(make([]byte, 10)); err == nil || len(a.DeltaFailures()) > 0 {
		t.Errorf("after it was closed: %d bytes, %v, %v", n, err, a.DeltaFailures())
	}
}
