package releasetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	if err != nil {
		t.Fatal(err)
	}
	req.Header["Accept"] = accept
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, body, err}
}

func TestService(t *testing.T) {
	t.Parallel()
	w := small(t)
	s := registrytest.Serve(t, registrytest.Options{}, w)
	graph, err := w.Graph("stable-4.20", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	multi, err := w.Graph("fast-4.20", "multi")
	if err != nil {
		t.Fatal(err)
	}
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

// TestSignatureStore checks that each release image has one signature, including shards and their
// manifest list.
func TestSignatureStore(t *testing.T) {
	t.Parallel()
	u := Small()
	u.Releases[0].Flaws.Unsigned = true
	u.Releases[1].Flaws.InvalidSignature = true
	w := newFixture(t, u)
	s := registrytest.Serve(t, registrytest.Options{}, w)
	for _, p := range w.Payloads {
		digests := []string{p.Digest.Encoded()}
		for _, d := range p.Shards {
			digests = append(digests, d.Encoded())
		}
		for _, hex := range digests {
			base := s.URL() + SignaturesPath + "/sha256=" + hex
			got := ask(t, http.DefaultClient, base+"/signature-1")
			if p.Flaws.Unsigned {
				if got.status != http.StatusNotFound {
					t.Errorf("%s: %d, want 404", p.Name, got.status)
				}
				continue
			}
			signed, err := read(t, w.Keys.OpenPGP, got.body)
			if (err != nil) != p.Flaws.InvalidSignature {
				t.Errorf("%s: signature: %v", p.Name, err)
			}
			if signed.Critical.Image.Digest.Encoded() != hex || signed.Critical.Identity.Reference != p.Repository+":"+p.Name {
				t.Errorf("%s: the statement is %+v", p.Name, signed)
			}
			if next := ask(t, http.DefaultClient, base+"/signature-2"); next.status != http.StatusNotFound {
				t.Errorf("%s: signature-2: %d, want 404", p.Name, next.status)
			}
		}
	}
	for _, name := range []string{"", "x", "sha256=", "sha256=00/signature-1", "sha256:" + w.Payloads[2].Digest.Encoded() + "/signature-1x"} {
		if got := ask(t, http.DefaultClient, s.URL()+SignaturesPath+"/"+name); got.status != http.StatusNotFound {
			t.Errorf("%q: %d, want 404", name, got.status)
		}
	}
}

// TestFaults checks that the scripted faults of registries work for these services too.
func TestFaults(t *testing.T) {
	t.Parallel()
	w := small(t)
	other := registrytest.Serve(t, registrytest.Options{}, w)
	s := registrytest.Serve(t, registrytest.Options{}, w)
	address := s.URL() + GraphPath + "?channel=stable-4.18"
	whole := ask(t, http.DefaultClient, address).body
	for name, tc := range map[string]struct {
		action registrytest.Action
		want   func(reply) bool
	}{
		"406": {Refuse(406, "invalid_content_type", "x"), func(r reply) bool { return r.status == 406 && json.Valid(r.body) }},
		"500": {Refuse(500, "failed_upstream_fetch", "no upstream"), func(r reply) bool {
			return r.status == 500 && string(r.body) == `{"kind":"failed_upstream_fetch","value":"no upstream"}`
		}},
		"html": {registrytest.Page(), func(r reply) bool { return r.status == 200 && strings.Contains(string(r.body), "<title>") }},
		"cut":  {registrytest.Cut(20), func(r reply) bool { return r.err != nil && bytes.Equal(r.body, whole[:20]) }},
		"truncated": {registrytest.ShortBody(20), func(r reply) bool {
			return r.err == nil && bytes.Equal(r.body, whole[:20])
		}},
		"429": {registrytest.Status(429, "Retry-After", "7"), func(r reply) bool { return r.status == 429 && r.header.Get("Retry-After") == "7" }},
		"redirect": {registrytest.Redirect(other), func(r reply) bool { // which loses the query, like redirects to storage
			return r.status == 400 && len(other.Log()) == 1
		}},
	} {
		s.Script(registrytest.Rule{Path: "^" + GraphPath + "$", Action: tc.action})
		if got := ask(t, http.DefaultClient, address); !tc.want(got) {
			t.Errorf("%s: %d %v %s, %v", name, got.status, got.header, got.body, got.err)
		}
		if got := ask(t, http.DefaultClient, s.URL()+GraphDataPath); got.status != 200 {
			t.Errorf("%s: graph data: %d, want no fault", name, got.status)
		}
	}
}

// TestServe checks that payloads contain the address of the server as their store, and that TLS
// works.
func TestServe(t *testing.T) {
	t.Parallel()
	w, s := Serve(t, Definition{Releases: []Release{{Version: "4.18.1"}}}, registrytest.Options{TLS: true})
	files, err := w.manifests(w.Payloads[0])
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(files, func(f registrytest.File) bool { return strings.HasSuffix(f.Name, "update-keys_configmap.yaml") })
	if i < 0 {
		t.Fatal("no ConfigMap of stores and keys")
	}
	var cm struct {
		APIVersion, Kind string
		Metadata         struct {
			Name, Namespace string
			Annotations     map[string]string
		}
		Data map[string]string
	}
	unmarshal(t, string(files[i].Data), &cm)
	if diff := cmp.Diff(map[string]string{
		"store-test": "https://" + s.Host + "/signatures", "verifier-public-key-test": string(w.Keys.OpenPGP),
	}, cm.Data); diff != "" {
		t.Errorf("ConfigMap (-want +got):\n%s", diff)
	}
	if _, ok := cm.Metadata.Annotations["release.openshift.io/verification-config-map"]; !ok || s.CAFile == "" {
		t.Errorf("annotations %v, CA file %q", cm.Metadata.Annotations, s.CAFile)
	}
}
