package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

const mib = 1 << 20

// noise is content without repetitions.
func noise(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{'u'}).Read(b)
	return b
}

func TestUploadContinues(t *testing.T) {
	blob := noise(6 * mib)
	const part = 2 * mib
	for _, tc := range []struct {
		name   string
		faults map[string]fault
		tell   func(s *session, w http.ResponseWriter)
		least  string
		chunk  int64 // 0: part
		log    []string
		opened []int64
		took   int // bytes that the registry had to take in; 0: those of the blob
	}{
		{
			name: "in chunks", opened: []int64{0},
			log: []string{"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152", "PUT 4194304-6291455+2097152"},
		}, {
			name: "a chunk that breaks", faults: map[string]fault{"PATCH 2": breaks(mib / 2)}, opened: []int64{0, 5 * mib / 2},
			log: []string{
				"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152",
				"GET", "PATCH 2621440-4718591+2097152", "PUT 4718592-6291455+1572864",
			},
		}, {
			name: "a PUT that breaks", chunk: 100 * mib, faults: map[string]fault{"PUT 1": breaks(3 * mib)}, opened: []int64{0, 3 * mib},
			log: []string{"POST", "PUT +6291456", "GET", "PUT 3145728-6291455+3145728"},
		}, {
			name: "the last chunk breaks", faults: map[string]fault{"PUT 1": breaks(mib)}, opened: []int64{0, 5 * mib},
			log: []string{
				"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152", "PUT 4194304-6291455+2097152",
				"GET", "PUT 5242880-6291455+1048576",
			},
		}, {
			name: "a chunk is refused for a moment", faults: map[string]fault{"PATCH 2": says(503)}, opened: []int64{0, 2 * mib},
			log: []string{
				"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152",
				"GET", "PATCH 2097152-4194303+2097152", "PUT 4194304-6291455+2097152",
			},
		}, {
			name: "all came, the answer did not", faults: map[string]fault{"PUT 1": func(u *sessionServer, s *session, w http.ResponseWriter, r *http.Request) {
				u.take(s, r.Body)
				reset(w, r)
			}}, opened: []int64{0},
			log: []string{
				"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152", "PUT 4194304-6291455+2097152", "GET", "PUT",
			},
		}, {
			name: "the blob is there, the answer was lost", faults: map[string]fault{"PUT 1": func(u *sessionServer, s *session, w http.ResponseWriter, r *http.Request) {
				u.answer(s, discarded{}, r)
				reset(w, r)
			}}, opened: []int64{0},
			log: []string{
				"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152", "PUT 4194304-6291455+2097152", "GET", "HEAD",
			},
		}, {
			name: "the session is asked again", faults: map[string]fault{"PATCH 2": breaks(0), "GET 1": says(502), "GET 2": func(_ *sessionServer, _ *session, w http.ResponseWriter, r *http.Request) { reset(w, r) }},
			opened: []int64{0, 2 * mib},
			log: []string{
				"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152",
				"GET", "GET", "GET", "PATCH 2097152-4194303+2097152", "PUT 4194304-6291455+2097152",
			},
		}, {
			name: "the session is gone", chunk: 100 * mib, faults: map[string]fault{"PUT 1": breaks(3 * mib), "GET 1": ends}, opened: []int64{0, 0}, took: 9 * mib,
			log: []string{"POST", "PUT +6291456", "GET", "HEAD", "POST", "PUT +6291456"},
		}, {
			name: "the session does not tell", chunk: 100 * mib, faults: map[string]fault{"PUT 1": breaks(3 * mib)}, opened: []int64{0, 0}, took: 9 * mib,
			tell: func(_ *session, w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
			log:  []string{"POST", "PUT +6291456", "GET", "DELETE", "POST", "PUT +6291456"},
		}, {
			name: "the session cannot be asked", chunk: 100 * mib, faults: map[string]fault{"PUT 1": breaks(3 * mib)}, opened: []int64{0, 0}, took: 9 * mib,
			tell: func(_ *session, w http.ResponseWriter) { w.WriteHeader(http.StatusMethodNotAllowed) },
			log:  []string{"POST", "PUT +6291456", "GET", "DELETE", "POST", "PUT +6291456"},
		}, {
			name: "the session has nothing", chunk: 100 * mib, faults: map[string]fault{"PUT 1": says(500)}, opened: []int64{0, 0},
			log: []string{"POST", "PUT +6291456", "GET", "DELETE", "POST", "PUT +6291456"},
		}, {
			name: "the session has what was never sent", chunk: 100 * mib, faults: map[string]fault{"PUT 1": breaks(3 * mib)}, opened: []int64{0, 0}, took: 9 * mib,
			tell: func(_ *session, w http.ResponseWriter) {
				w.Header().Set("Range", "0-6291456")
				w.WriteHeader(http.StatusNoContent)
			},
			log: []string{"POST", "PUT +6291456", "GET", "DELETE", "POST", "PUT +6291456"},
		}, {
			name: "Quay", faults: map[string]fault{"PATCH 2": breaks(0)}, opened: []int64{0, 2 * mib},
			tell: func(s *session, w http.ResponseWriter) { // no Location, and the number of bytes as the end
				w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(s.data)))
				w.WriteHeader(http.StatusNoContent)
			},
			log: []string{
				"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152",
				"GET", "PATCH 2097152-4194303+2097152", "PUT 4194304-6291455+2097152",
			},
		}, {
			name: "ECR", faults: map[string]fault{
				"PATCH 1": func(u *sessionServer, s *session, w http.ResponseWriter, r *http.Request) {
					u.take(s, r.Body)
					w.Header().Set("Location", u.location(s))
					w.Header().Set("Range", "0-1023") // less than it has
					w.WriteHeader(http.StatusCreated)
				},
			}, opened: []int64{0},
			log: []string{"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152", "PUT 4194304-6291455+2097152"},
		}, {
			name: "a session that ends between two chunks", faults: map[string]fault{"PATCH 2": also(func(u *sessionServer, s *session, _ http.ResponseWriter, _ *http.Request) {
				s.data = nil
			})}, opened: []int64{0, 0}, took: 8 * mib,
			log: []string{
				"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152", "DELETE", "GET", "DELETE",
				"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152", "PUT 4194304-6291455+2097152",
			},
		}, {
			name: "GHCR takes no large chunk", faults: map[string]fault{"PATCH 1": says(416)}, opened: []int64{0, 0},
			log: []string{"POST", "PATCH 0-2097151+2097152", "DELETE", "POST", "PUT +6291456"},
		}, {
			name: "chunks are put together wrongly", faults: map[string]fault{"PATCH 2": also(func(_ *sessionServer, s *session, _ http.ResponseWriter, r *http.Request) {
				s.data[0] ^= 1
			})}, opened: []int64{0, 0}, took: 12 * mib,
			log: []string{
				"POST", "PATCH 0-2097151+2097152", "PATCH 2097152-4194303+2097152", "PUT 4194304-6291455+2097152", "DELETE", "GET", "DELETE",
				"POST", "PUT +6291456",
			},
		}, {
			name: "chunks of 3 MiB at least", least: "3145728", opened: []int64{0},
			log: []string{"POST", "PATCH 0-3145727+3145728", "PUT 3145728-6291455+3145728"},
		}, {
			name: "every chunk breaks and comes on", opened: []int64{0, 2 * mib, 3 * mib, 4 * mib, 5 * mib}, chunk: 100 * mib,
			faults: map[string]fault{"PUT 1": breaks(2 * mib), "PUT 2": breaks(mib), "PUT 3": breaks(mib), "PUT 4": breaks(mib)},
			log: []string{
				"POST", "PUT +6291456", "GET", "PUT 2097152-6291455+4194304", "GET", "PUT 3145728-6291455+3145728",
				"GET", "PUT 4194304-6291455+2097152", "GET", "PUT 5242880-6291455+1048576",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := &sessionServer{faults: tc.faults, tell: tc.tell, least: tc.least, signed: tc.tell == nil}
			s := u.start(t)
			// One further attempt is enough where progress is made.
			c := newClient(t, remote.Options{Side: remote.Destination, Clock: newClock(), Retry: remote.Retry{Times: 3}})
			if strings.Contains(tc.name, "comes on") {
				c = newClient(t, remote.Options{Side: remote.Destination, Clock: newClock(), Retry: remote.Retry{Times: 1}})
			}
			var opened []int64
			chunk := tc.chunk
			if chunk == 0 {
				chunk = part
			}
			err := c.PushInChunks(t.Context(), repoAt(s, "org/name"), describe(blob), func(_ context.Context, offset int64) (io.ReadCloser, error) {
				opened = append(opened, offset)
				return io.NopCloser(bytes.NewReader(blob[offset:])), nil
			}, chunk)
			fail.On(t, err)
			u.mu.Lock()
			defer u.mu.Unlock()
			fail.Diff(t, tc.log, u.log)
			fail.Diff(t, tc.opened, opened)
			if !bytes.Equal(u.blobs[describe(blob).Digest.String()], blob) {
				t.Error("the registry has another blob")
			}
			fail.Diff(t, max(tc.took, len(blob)), u.took)
			if len(u.sessions) > 0 {
				t.Errorf("%d sessions stay open", len(u.sessions))
			}
		})
	}
}

// A host that refuses chunks is not sent chunks for every blob.
func TestChunksRefusedIsRemembered(t *testing.T) {
	blob := noise(3 * mib)
	u := &sessionServer{faults: map[string]fault{"PATCH 1": says(416)}}
	s := u.start(t)
	c := newClient(t, remote.Options{Side: remote.Destination})
	for range 2 {
		fail.On(t, c.PushInChunks(t.Context(), repoAt(s, "org/name"), describe(blob), opener(blob), mib))
	}
	want := []string{"POST", "PATCH 0-1048575+1048576", "DELETE", "POST", "PUT +3145728", "POST", "PUT +3145728"}
	fail.Diff(t, want, u.log)
}

// An upload without enough progress ends after the attempts of the policy, and leaves no session
// behind.
func TestUploadGivesUp(t *testing.T) {
	blob := noise(4 * mib)
	for _, kept := range []int64{0, 1000} {
		u := &sessionServer{faults: map[string]fault{}, signed: true}
		u.faults["PATCH 1"] = breaks(mib)
		for i := 2; i < 30; i++ {
			u.faults["PATCH "+strconv.Itoa(i)] = breaks(kept)
		}
		s := u.start(t)
		c := newClient(t, remote.Options{Side: remote.Destination, Clock: newClock(), Retry: remote.Retry{Times: 3}})
		err := c.PushInChunks(t.Context(), repoAt(s, "org/name"), describe(blob), opener(blob), 2*mib)
		if !errors.Is(err, remote.ErrUnreachable) {
			t.Errorf("the error is not one of the network: %v", err)
		}
		// The first MiB makes the attempts count anew.
		fail.Diff(t, 5, u.seen["PATCH"])
		u.mu.Lock()
		if len(u.sessions) > 0 {
			t.Errorf("%d sessions stay open after %v", len(u.sessions), u.log)
		}
		u.mu.Unlock()
	}
}
