package remote_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A broken download is continued, however a registry treats Range, or ends with an error if the
// blob has changed.
func TestDownloadContinues(t *testing.T) {
	blob := noise(mib)
	const first = 1000 // bytes that come before it breaks
	answer := func(code int, contentRange string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if contentRange != "" {
				w.Header().Set("Content-Range", contentRange)
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			w.WriteHeader(code)
			_, _ = w.Write(body)
		}
	}
	for name, tc := range map[string]struct {
		answer http.HandlerFunc // to the request for the rest
		whole  bool             // the complete blob is requested after that
		on     string           // the range after that, where it gave less
		want   error
		read   int // bytes of bodies, where it succeeds
	}{
		"the rest":                 {answer: answer(206, "bytes 1000-1048575/1048576", blob[first:]), read: mib},
		"the rest of an unknown":   {answer: answer(206, "bytes 1000-1048575/*", blob[first:]), read: mib},
		"the whole":                {answer: answer(200, "", blob), read: first + mib},
		"no such range":            {answer: answer(416, "bytes */1048576", nil), whole: true, read: first + mib},
		"another range":            {answer: answer(206, "bytes 999-1048575/1048576", blob[first-1:]), whole: true},
		"a range that is not told": {answer: answer(206, "", blob[first:]), whole: true},
		"an invalid range":         {answer: answer(206, "bytes one-two/three", blob[first:]), whole: true},
		"less than the rest":       {answer: answer(206, "bytes 1000-499999/1048576", blob[first:500_000]), on: "bytes=500000-1048575", read: mib},
		"less of an unknown":       {answer: answer(206, "bytes 1000-499999/*", blob[first:500_000]), on: "bytes=500000-1048575", read: mib},
		"less of a longer":         {answer: answer(206, "bytes 1000-499999/1048577", blob[first:500_000]), want: remote.ErrMismatch},
		"the rest of a longer":     {answer: answer(206, "bytes 1000-1048575/1048577", blob[first:]), want: remote.ErrMismatch},
		"more than the rest":       {answer: answer(206, "bytes 1000-1048576/1048577", append(bytes.Clone(blob[first:]), 'x')), want: remote.ErrMismatch},
		"a shorter whole":          {answer: answer(200, "", blob[1:]), want: remote.ErrMismatch},
		"the rest of another":      {answer: answer(206, "bytes 1000-1048575/1048576", make([]byte, mib-first)), want: remote.ErrMismatch},
		"it is gone":               {answer: answer(404, "", nil), want: remote.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			f := &faults{method: http.MethodGet, part: "/blobs/"}
			var ranges []string
			s := startRegistry(t, func(next http.Handler) http.Handler {
				next = f.wrap(next)
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodGet && r.URL.Path != "/v2/" {
						ranges = append(ranges, r.Header.Get("Range"))
					}
					next.ServeHTTP(w, r)
				})
			})
			seed(t, s, blob, manifestOf([]byte("{}"), blob))
			f.answers = []http.HandlerFunc{partly(blob, first, true), tc.answer}
			c := newClient(t, remote.Options{Clock: newClock()})
			got, err := readBlob(t.Context(), c, s, blob)
			if !errors.Is(err, tc.want) || err == nil && !bytes.Equal(got, blob) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			if tc.want != nil && len(got) == len(blob) {
				t.Error("a reader by length sees the whole blob")
			}
			want := []string{"", "bytes=1000-1048575"}
			if tc.on != "" {
				want = append(want, tc.on)
			}
			if tc.whole {
				want = append(want, "")
			}
			fail.Diff(t, want, ranges)
			if n := int(c.Stats().BytesRead); tc.read > 0 && n != tc.read {
				t.Errorf("%d bytes were read, want %d", n, tc.read)
			}
		})
	}
}
