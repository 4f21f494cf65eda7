package releasetest

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A reply is a response as a client sees it.
type reply struct {
	status int
	header http.Header
	body   []byte
	err    error // of reading the body
}

func ask(t *testing.T, client *http.Client, address string, accept ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	fail.On(t, err)
	req.Header["Accept"] = accept
	resp, err := client.Do(req)
	fail.On(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, body, err}
}

func TestService(t *testing.T) {
	t.Parallel()
	w := small(t)
	s := registrytest.Serve(t, registrytest.Options{}, w)
	graph, err := w.Graph("stable-4.20", "amd64")
	fail.On(t, err)
	multi, err := w.Graph("fast-4.20", "multi")
	fail.On(t, err)
	const asJSON, own = "application/json", "application/vnd.redhat.cincinnati.v1+json"
	for _, tc := range []struct {
		query  string
		accept []string
		status int
		want   string
	}{
		{"channel=stable-4.20&arch=amd64", []string{asJSON}, 200, string(graph)},
		{"channel=stable-4.20", []string{own}, 200, string(graph)},
		{"channel=stable-4.20", nil, 200, string(graph)},
		{"arch=multi&channel=fast-4.20&version=4.20.1&id=x", []string{"text/html, */*;q=0.1"}, 200, string(multi)},
		{"channel=stable-4.99", []string{asJSON}, 200, `{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}`},
		{"channel=stable-4.20", []string{"text/html"}, 406, `{"kind":"invalid_content_type","value":"invalid Content-Type requested"}`},
		{"arch=amd64", []string{asJSON}, 400, `{"kind":"missing_params","value":"mandatory client parameters missing: channel"}`},
		{"channel=Stable", []string{asJSON}, 400, `{"kind":"invalid_params","value":"invalid client parameters: channel \"Stable\""}`},
		{"channel=stable-4.20&arch=x86_64", []string{asJSON}, 400, `{"kind":"invalid_params","value":"invalid client parameters: arch \"x86_64\""}`},
	} {
		got := ask(t, http.DefaultClient, s.URL()+GraphPath+"?"+tc.query, tc.accept...)
		if diff := cmp.Diff(tc.want, string(got.body)); diff != "" || got.status != tc.status || got.header.Get("Content-Type") != asJSON {
			t.Errorf("%s, %q: %d %s, body (-want +got):\n%s", tc.query, tc.accept, got.status, got.header.Get("Content-Type"), diff)
		}
	}
	if got := ask(t, http.DefaultClient, s.URL()+GraphDataPath); got.status != http.StatusOK || !bytes.Equal(got.body, w.GraphData()) {
		t.Errorf("graph data: %d, %d bytes", got.status, len(got.body))
	}
	if got := ask(t, http.DefaultClient, s.URL()+"/"); got.status != http.StatusNotFound {
		t.Errorf("/: %d, want 404", got.status)
	}
	if got := s.Log()[1]; got.Path != GraphPath || got.Query != "channel=stable-4.20" || got.Status != http.StatusOK {
		t.Errorf("the log's second request is %+v", got)
	}
}
