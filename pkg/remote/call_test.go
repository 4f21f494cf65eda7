package remote_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

func TestCall(t *testing.T) {
	t.Parallel()
	var requests, elsewhere atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "{}" || r.Header.Get("Authorization") != "Bearer s3cr3t" {
			t.Errorf("%s %v %v", body, r.Header, err)
		}
		switch {
		case r.URL.Path == "/fails":
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"errors":[{"code":"X","message":"bad token s3cr3t"}]}`) // the client may be gone
		case r.URL.Path == "/moved":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case n == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, "exists") // as above
		}
	})
	client, err := remote.New(remote.Options{Side: remote.Destination, Retry: remote.Retry{Times: 1, Delay: time.Millisecond}})
	fail.On(t, err)
	t.Cleanup(client.Close)
	headers := 0
	call := func(path string, limit int64) (*remote.Answer, error) {
		return client.Call(t.Context(), remote.Call{Op: "creating x", Method: http.MethodPost, URL: server.URL + path, Body: []byte("{}"), Limit: limit, Header: func() http.Header {
			headers++
			return http.Header{"Authorization": {"Bearer s3cr3t"}}
		}})
	}
	answer, err := call("/", 100)
	if err != nil || answer.Status != http.StatusConflict || string(answer.Body) != "exists" || headers != 2 {
		t.Errorf("%+v %v, %d headers", answer, err, headers)
	}
	if answer, err = call("/moved", 100); err != nil || answer.Status != http.StatusTemporaryRedirect || elsewhere.Load() != 0 {
		t.Errorf("%+v %v, %d requests elsewhere", answer, err, elsewhere.Load())
	}
	if _, err = call("/", 3); err == nil {
		t.Error("a response above the limit is accepted")
	}
	if _, err = call("/fails", 100); err == nil || strings.Contains(err.Error(), "s3cr3t") || !strings.Contains(err.Error(), "creating x") {
		t.Error(err)
	}
}
