package main

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release/releasetest"
	"github.com/gantry-mirror/gantry/pkg/release/updates"
)

// TestUpdateServiceFaults checks that faults of update services, graph data and signature stores
// are reported, and that no partial result is left.
func TestUpdateServiceFaults(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	stanza := headOf420 + "    graph: true\n"
	isc := w.config("imageset.yaml", stanza)
	graph, data := releasetest.GraphPath, releasetest.GraphDataPath
	p := w.payload("4.20.2-x86_64")
	at := func(path string, action rt.Action) rt.Rule { return rt.Rule{Path: path, Action: action} }
	for _, tc := range []struct {
		name  string
		rule  rt.Rule
		isc   string // "" for the shared configuration
		code  int
		words []string
		idle  time.Duration // 0 for a long timeout
	}{
		{name: "slow graph", idle: 100 * time.Millisecond, rule: at(releasetest.GraphPath, rt.Stall(40)), words: []string{"update graph of channel fast-4.20 for amd64", graph}},
		{name: "silent service", idle: 100 * time.Millisecond, rule: at(releasetest.GraphPath, rt.NoResponse()), words: []string{graph}},
		{name: "broken off", rule: at(releasetest.GraphPath, rt.Cut(200)), words: []string{graph}},
		{name: "cut short", rule: at(releasetest.GraphPath, rt.ShortBody(200)), words: []string{graph, "cut"}},
		{name: "HTML", rule: at(releasetest.GraphPath, rt.Page()), words: []string{graph, "proxy"}},
		{name: "406", rule: at(releasetest.GraphPath, releasetest.Refuse(http.StatusNotAcceptable, "invalid_content_type", "invalid Content-Type requested")), words: []string{graph, "406", "invalid Content-Type requested"}},
		{name: "500", rule: at(releasetest.GraphPath, releasetest.Refuse(http.StatusInternalServerError, "failed_upstream_fetch", "upstream is gone")), words: []string{graph, "500", "upstream is gone"}},
		{name: "404", rule: at(releasetest.GraphPath, rt.Status(http.StatusNotFound)), words: []string{"there is no update service at", graph, "check the address of the update service"}},
		{name: "denied", rule: at(releasetest.GraphPath, rt.Status(http.StatusForbidden)), code: exitUnauthorized, words: []string{graph, "403"}},
		{name: "unknown channel", isc: "  platform:\n    channels: [{name: fast-4.02}, {name: fast-4.20}]\n", code: exitUsage, words: []string{"imageset.yaml:5", "fast-4.02", `did you mean "fast-4.20"?`}},
		{name: "store is down", rule: at(releasetest.SignaturesPath, rt.Reset()), words: []string{p.Digest.String(), "is not trusted", w.service.Host + releasetest.SignaturesPath}},
		{name: "store is broken", rule: at(releasetest.SignaturesPath, rt.Status(http.StatusInternalServerError)), words: []string{p.Digest.String(), "500"}},
		{name: "store is a page", rule: at(releasetest.SignaturesPath, rt.Page()), code: exitMismatch, words: []string{p.Digest.String(), "not an OpenPGP message"}},
		{name: "store is denied", rule: at(releasetest.SignaturesPath, rt.Status(http.StatusUnauthorized)), code: exitUnauthorized, words: []string{p.Digest.String(), "401"}},
		{name: "data cut short", rule: at(releasetest.GraphDataPath, rt.ShortBody(200)), words: []string{data, "graph"}},
		{name: "data is a page", rule: at(releasetest.GraphDataPath, rt.Page()), words: []string{data, "graph"}},
		{name: "data is gone", rule: at(releasetest.GraphDataPath, rt.Status(http.StatusNotFound)), words: []string{data, "404", "mirror.platform.graphData"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := w.in(t)
			w.service.Script(tc.rule)
			defer w.service.Script()
			isc, code := isc, exitError
			if tc.isc != "" {
				isc = w.config("imageset.yaml", tc.isc)
				defer w.config("imageset.yaml", stanza)
			}
			if tc.code != 0 {
				code = tc.code
			}
			o := w.impatiently(cmp.Or(tc.idle, 30*time.Second), "mirror", "-c", isc, w.docker("/refused"), "--workspace", w.path(tc.name))
			w.ended(o, code, tc.words...)
			w.untouched(tc.name)
		})
	}
}

// TestGraphDataIsNotReadAgain carries out plans in a workspace that lacks their graph data image,
// after the graph data was changed or removed.
func TestGraphDataIsNotReadAgain(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	const token = "s3cret"
	answer := func(allowed bool, status int) rt.Rule {
		return rt.Rule{Path: releasetest.GraphDataPath, Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
			if allowed && r.URL.Query().Get("token") == token {
				next.ServeHTTP(rw, r)
				return
			}
			rw.WriteHeader(status)
			_, _ = rw.Write([]byte("something else"))
		}}
	}
	w.service.Script(answer(true, http.StatusForbidden))
	isc := w.config("imageset.yaml", headOf420+"    graph: true\n    graphData: "+w.service.URL()+releasetest.GraphDataPath+"?token="+token+"\n")
	w.must("plan", "-c", isc, "-o", w.path("plan.json"))
	for _, tc := range []struct {
		status int
		code   int
		word   string
	}{
		{http.StatusForbidden, exitUnauthorized, "403"},
		{http.StatusNotFound, exitError, "404"},
		{http.StatusOK, exitError, "graph-data"},
	} {
		w.service.Script(answer(false, tc.status))
		o := w.gantry("mirror", "--plan", w.path("plan.json"), w.docker("/ocp"), "--workspace", w.path("fresh"))
		w.ended(o, tc.code, tc.word, "set --workspace to the workspace that the plan was made in", "without user and query")
		if strings.Contains(o.stderr, token) || strings.Contains(o.stderr, "mirror.platform.graphData") {
			t.Errorf("it prints\n%s", o.stderr)
		}
	}
	// The workspace that made the plan has the image.
	w.must("mirror", "--plan", w.path("plan.json"), w.docker("/ocp"))
}

// TestSignatureStores checks that the next store is used if one is down.
func TestSignatureStores(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	down := rt.Serve(t, rt.Options{Rules: []rt.Rule{{Action: rt.Reset()}}}, http.NotFoundHandler())
	store := w.env[updates.SignatureURLVariable]
	delete(w.env, updates.SignatureURLVariable)
	isc := w.config("imageset.yaml", headOf420+"    signatureStores: ["+down.URL()+", "+store+"]\n")
	o := w.impatiently(30*time.Second, "mirror", "-c", isc, w.docker("/ocp"), "--workspace", w.path("workspace"))
	w.ended(o, exitOK)
	asked := map[string]bool{}
	for _, r := range down.Log() {
		asked[r.Path] = true
	}
	if len(asked) != 1 {
		t.Errorf("the store that is down got requests for %v, want requests for one signature only", slices.Sorted(maps.Keys(asked)))
	}
	w.holds("ocp", "4.20.2-x86_64")
	w.attested("workspace", "4.20.2-x86_64")
}

// TestInvalidSignatureSettings checks that invalid keys and stores are reported once, before any
// request, and without secrets.
func TestInvalidSignatureSettings(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	isc := w.config("imageset.yaml", "  platform: {channels: [{name: fast-4.20, from: [4.18.1]}]}\n")
	store := w.env[updates.SignatureURLVariable]
	for _, tc := range []struct{ name, store, key, word string }{
		{"password", strings.Replace(store, "//", "//me:hidden@", 1) + "?token=hidden", "", "contains credentials"},
		{"query", store + "?token=hidden", "", "the address must not have a query or a fragment"},
		{"no address", "signatures", "", "write https://HOST/PATH"},
		{"no key", store, w.path("absent.asc"), "absent.asc"},
		{"not a key", store, isc, "imageset.yaml"},
	} {
		w.env[updates.SignatureURLVariable] = tc.store
		args := []string{"plan", "-c", isc, "--workspace", w.path(tc.name)}
		if tc.key != "" {
			args = append(args, "--release-key", tc.key)
		}
		w.service.ResetLog()
		o := w.gantry(args...)
		w.ended(o, exitUsage, tc.word)
		if strings.Contains(o.stderr, "hidden") || strings.Count(o.stderr, "\n") > 1 || len(w.service.Log()) > 0 {
			t.Errorf("%s: %d requests\n%s", tc.name, len(w.service.Log()), o.stderr)
		}
	}
}

// TestInvalidUpdateService checks that addresses that cannot be an update service are reported.
func TestInvalidUpdateService(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	isc := w.config("imageset.yaml", headOf420+"    graph: true\n")
	for address, word := range map[string]string{
		"http://me:hidden@updates.example.com/graph?token=hidden": "contains credentials",
		"ftp://updates.example.com/graph?token=hidden":            "is not http or https",
		"http://updates.example.com/%zz?token=hidden":             "is malformed",
	} {
		w.env[updates.UpdateURLVariable] = address
		k := ask(t, address)
		for _, o := range []outcome{
			w.gantry("plan", "-c", isc),
			k.gantry("list", "releases", "--channel", "stable-4.20"),
			k.gantry("graph", "release", "stable-4.20"),
		} {
			w.ended(o, exitUsage, word)
			if strings.Contains(o.stderr, "hidden") {
				t.Errorf("%s: %s", address, o.stderr)
			}
		}
	}
}
