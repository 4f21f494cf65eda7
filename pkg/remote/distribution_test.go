package remote_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// errSource is a source that fails.
var errSource = errors.New("the source fails")

// A pausing source returns its bytes up to an offset, signals that, and then does something else.
type pausing struct {
	io.Reader
	then func() error
}

func (p *pausing) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err == io.EOF {
		return n, p.then()
	}
	return n, err
}
func (p *pausing) Close() error { return nil }

// Whatever happens to an upload to a CNCF distribution registry, no session stays open there, only
// bytes with the digest are stored, and stored bytes are not sent again. Version 2.8 refuses to say how much of a broken
// upload it has, and to cancel it. Registries in memory keep nothing of a
// broken request, and that of cuelabs.dev/go/oci/ociregistry answers wrong bytes with 500.
func TestUploadsToDistribution(t *testing.T) {
	const size, part = 6 * mib, 2 * mib
	resumes := registrytest.Uses("distribution3")
	blob := noise(size)
	rule := func(method string, nth int, a registrytest.Action) []registrytest.Rule {
		return []registrytest.Rule{{Method: method, Path: "/blobs/uploads/", Nth: nth, Action: a}}
	}
	for _, tc := range []struct {
		name    string
		chunk   int64 // 0: part
		rules   func(s *registrytest.Server) []registrytest.Rule
		open    func(cancel func(), offset int64) io.Reader // nil: all of the blob
		want    error
		refused bool // by the registry, which is a *remote.Error
		sent    int  // bytes at most; 0: those of the blob and what a connection holds
	}{
		{name: "in chunks"},
		{name: "a chunk breaks", rules: func(*registrytest.Server) []registrytest.Rule {
			return rule(http.MethodPatch, 2, registrytest.CutUpload(mib))
		}},
		{name: "the last part breaks", rules: func(*registrytest.Server) []registrytest.Rule {
			return rule(http.MethodPut, 1, registrytest.CutUpload(mib))
		}},
		{name: "one PUT breaks", chunk: 100 * mib, rules: func(*registrytest.Server) []registrytest.Rule {
			return rule(http.MethodPut, 1, registrytest.CutUpload(3*mib))
		}},
		{name: "the registry restarts in the middle of a chunk", rules: func(s *registrytest.Server) []registrytest.Rule {
			return rule(http.MethodPatch, 2, s.RestartAfter(mib))
		}},
		{name: "the registry restarts in the middle of a PUT", chunk: 100 * mib, rules: func(s *registrytest.Server) []registrytest.Rule {
			return rule(http.MethodPut, 1, s.RestartAfter(3*mib))
		}},
		{name: "an answer is lost", rules: func(*registrytest.Server) []registrytest.Rule {
			return rule(http.MethodPatch, 1, registrytest.LoseResponse())
		}},
		{name: "the last answer is lost", rules: func(*registrytest.Server) []registrytest.Rule {
			return rule(http.MethodPut, 1, registrytest.LoseResponse())
		}},
		{name: "every part is refused", rules: func(*registrytest.Server) []registrytest.Rule {
			return rule(http.MethodPatch, 0, registrytest.Status(http.StatusBadGateway))
		}, refused: true, sent: 11 * size},
		{name: "every part breaks at once", rules: func(*registrytest.Server) []registrytest.Rule {
			return rule(http.MethodPatch, 0, registrytest.CutUpload(0))
		}, want: remote.ErrUnreachable, sent: 11 * size},
		{name: "cancelling is refused for a moment", rules: func(*registrytest.Server) []registrytest.Rule {
			return append(rule(http.MethodDelete, 1, registrytest.Status(http.StatusServiceUnavailable)),
				rule(http.MethodPatch, 0, registrytest.Status(http.StatusBadRequest))...)
		}, sent: 3 * size},
		{name: "the source fails", open: func(_ func(), offset int64) io.Reader {
			return &pausing{bytes.NewReader(blob[offset : 3*mib]), func() error { return errSource }}
		}, want: errSource},
		{name: "the source has other bytes", open: func(_ func(), offset int64) io.Reader {
			return bytes.NewReader(make([]byte, size-offset))
		}, refused: true, sent: 2*size + mib},
		{name: "the run is ended", open: func(cancel func(), offset int64) io.Reader {
			return &pausing{bytes.NewReader(blob[offset : 3*mib]), func() error { cancel(); return context.Canceled }}
		}, want: context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := registrytest.Start(t, registrytest.Options{Alone: strings.Contains(tc.name, "restarts")})
			if tc.rules != nil {
				s.Script(tc.rules(s)...)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := newClient(t, remote.Options{
				Side: remote.Destination, PlainHTTP: true, Timeouts: remote.Timeouts{IdleTimeout: 5 * time.Second},
				Retry: remote.Retry{Times: 10, Delay: 50 * time.Millisecond},
			})
			chunk := tc.chunk
			if chunk == 0 {
				chunk = part
			}
			repo := reference.Reference{Host: s.Host, Path: "org/name"}
			err := c.PushInChunks(ctx, repo, describe(blob), func(_ context.Context, offset int64) (io.ReadCloser, error) {
				if tc.open != nil {
					return io.NopCloser(tc.open(cancel, offset)), nil
				}
				return io.NopCloser(bytes.NewReader(blob[offset:])), nil
			}, chunk)
			var e *remote.Error
			if !tc.refused && !errors.Is(err, tc.want) || tc.refused != errors.As(err, &e) && tc.want == nil {
				t.Errorf("got %v, want %v, refused %t", err, tc.want, tc.refused)
			}
			sent := tc.sent
			if sent == 0 {
				sent = size + 4*mib // a connection that broke held some
			}
			if n := c.Stats().BytesWritten; resumes && n > int64(sent) {
				t.Errorf("%d bytes were sent for %d", n, size)
			}
			there, err := c.BlobExists(t.Context(), repo, describe(blob))
			if there != (tc.want == nil && !tc.refused) || err != nil {
				t.Errorf("the blob is there: %t, %v", there, err)
			}
			stored, err := s.Repositories("org")
			fail.On(t, err)
			for _, r := range stored {
				if resumes && r.Uploads > 0 {
					t.Errorf("%d uploads stay open in %s after %v", r.Uploads, r.Name, c.Stats().Requests)
				}
			}
		})
	}
}
