package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// plain hides the optional methods of a reader.
type plain struct{ io.ReadCloser }

// A source that is opened in the middle cannot detect wrong bytes. The upload continues its hash,
// and reads everything again to find out what is wrong.
func TestResumedUploadComparesItsSource(t *testing.T) {
	blob := noise(4 * mib)
	wrong := bytes.Clone(blob)
	wrong[3*mib] ^= 1
	for _, tc := range []struct {
		name   string
		hides  bool             // the hash of the first source
		second []byte           // what the source has when it is opened again …
		third  []byte           // … and again
		fault  map[string]fault // of the registry
		opened []int64
		log    []string
		fails  bool
	}{
		{
			name: "right bytes", second: blob, opened: []int64{0, 5 * mib / 2},
			log: []string{"POST", "PUT +4194304", "GET", "PUT 2621440-4194303+1572864"},
		}, {
			name: "wrong bytes once", second: wrong, third: blob, opened: []int64{0, 5 * mib / 2, 0},
			log: []string{"POST", "PUT +4194304", "GET", "PUT 2621440-4194303+1572864", "DELETE", "GET", "DELETE", "POST", "PUT +4194304"},
		}, {
			name: "wrong bytes", second: wrong, third: wrong, opened: []int64{0, 5 * mib / 2, 0}, fails: true,
			log: []string{"POST", "PUT +4194304", "GET", "PUT 2621440-4194303+1572864", "DELETE", "GET", "DELETE", "POST", "PUT +4194304", "DELETE", "GET", "DELETE"},
		}, {
			// The registry finds them.
			name: "wrong bytes from a source that tells no hash", hides: true, second: wrong, third: blob, opened: []int64{0, 5 * mib / 2, 0},
			log: []string{"POST", "PUT +4194304", "GET", "PUT 2621440-4194303+1572864", "DELETE", "GET", "DELETE", "POST", "PUT +4194304"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := &sessionServer{faults: map[string]fault{"PUT 1": breaks(5 * mib / 2)}, signed: true}
			s := u.start(t)
			c := newClient(t, remote.Options{Side: remote.Destination, Clock: newClock()})
			var opened []int64
			err := c.PushInChunks(t.Context(), repoAt(s, "org/name"), describe(blob), func(ctx context.Context, offset int64) (io.ReadCloser, error) {
				opened = append(opened, offset)
				content := [][]byte{blob, tc.second, tc.third}[len(opened)-1]
				body, err := layout.Rest(ctx, io.NopCloser(bytes.NewReader(content[offset:])), describe(blob), offset, "the source")
				if tc.hides && err == nil {
					body = plain{body}
				}
				return body, err
			}, 100*mib)
			if tc.fails {
				if _, ok := errors.AsType[*layout.CorruptError](err); !ok {
					t.Errorf("the source does not say what is wrong: %v", err)
				}
			} else if err != nil {
				t.Error(err)
			}
			u.mu.Lock()
			defer u.mu.Unlock()
			fail.Diff(t, tc.opened, opened)
			if tc.fails {
				if len(u.blobs) > 0 {
					t.Error("wrong bytes stand under the digest")
				}
			} else if !bytes.Equal(u.blobs[describe(blob).Digest.String()], blob) {
				t.Error("the registry has another blob")
			}
			// On a busy machine, the client has read the wrong bytes before the registry sees the last PUT.
			early := []string{"POST", "PUT +4194304", "GET", "PUT 2621440-4194303+1572864", "DELETE", "GET", "DELETE", "POST", "DELETE"}
			if diff := cmp.Diff(tc.log, u.log); diff != "" && (!tc.fails || !slices.Equal(early, u.log)) {
				t.Error(diff)
			}
			if len(u.sessions) > 0 {
				t.Errorf("%d sessions stay open", len(u.sessions))
			}
		})
	}
}

// Readers of blobs return their hash at any offset.
func TestBlobReturnsItsHash(t *testing.T) {
	blob := noise(mib)
	s := startRegistry(t, nil)
	seed(t, s, blob, manifestOf(blob))
	c := newClient(t, remote.Options{})
	for _, offset := range []int64{0, 1000} {
		r, err := c.Blob(t.Context(), repoAt(s, "org/name"), describe(blob), offset)
		fail.On(t, err)
		_, err = io.CopyN(io.Discard, r, 5000)
		fail.On(t, err)
		_ = r.Close()
		h, n := r.(interface{ Hashed() (hash.Hash, int64) }).Hashed()
		if offset > 0 {
			if h != nil {
				t.Error("there is a hash of what began in the middle")
			}
			continue
		}
		if h == nil || n != 5000 {
			t.Fatalf("the hash is of %d bytes", n)
		}
		h.Write(blob[n:])
		fail.Diff(t, describe(blob).Digest.Encoded(), fmt.Sprintf("%x", h.Sum(nil)))
	}
}
