package updates_test

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// A service is an update service with graph data and a signature store.
type service struct {
	*mirrortest.Site
	releases *releasetest.Platform
	server   *registrytest.Server
	payload  *releasetest.Payload // 4.20.2 for amd64
}

func newService(t *testing.T) *service {
	t.Helper()
	releases, server := releasetest.Serve(t, releasetest.Small(), registrytest.Options{})
	s := &service{&mirrortest.Site{T: t, Dir: t.TempDir()}, releases, server, releases.Payload("4.20.2-x86_64")}
	s.Vars = map[string]string{
		"HOME": s.Dir, "CONTAINERS_REGISTRIES_CONF": s.Write("registries.conf", ""),
		updates.SignatureKeyVariable: s.Write("release.asc", string(releases.Keys.OpenPGP)),
		updates.SignatureURLVariable: server.URL() + releasetest.SignaturesPath,
		updates.UpdateURLVariable:    server.URL() + releasetest.GraphPath,
	}
	return s
}

// updates returns the update services of a configuration, which may be nil. Servers that are silent for a while are
// given up, and no request is repeated.
func (s *service) updates(cfg *imageset.Releases, trust updates.ReleaseTrust) *updates.Updates {
	s.T.Helper()
	e := s.NewEnv()
	e.Registries = env.Registries{RetryTimes: -1, SilentTimeout: time.Second}
	client, err := e.Client(remote.Source)
	if err != nil {
		s.T.Fatal(err)
	}
	return updates.NewUpdates(e, client, cfg, trust)
}

// answer answers requests for the signature of a digest with this body.
func answer(d digest.Digest, body []byte) registrytest.Rule {
	return registrytest.Rule{Path: releasetest.SignaturesPath + "/sha256=" + d.Encoded() + "/signature-1$", Action: func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		_, _ = rw.Write(body)
	}}
}

// TestFaults checks that faults of update services, graph data and signature stores are reported.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const graph, data, store = releasetest.GraphPath, releasetest.GraphDataPath, releasetest.SignaturesPath
	image := s.payload.Digest.String()
	for name, tc := range map[string]struct {
		path   string
		action registrytest.Action
		kind   advice.Kind
		words  []string
	}{
		"silent service":  {graph, registrytest.NoResponse(), advice.Failure, []string{graph}},
		"broken off":      {graph, registrytest.Cut(200), advice.Failure, []string{graph}},
		"cut short":       {graph, registrytest.ShortBody(200), advice.Failure, []string{graph, "cut"}},
		"HTML":            {graph, registrytest.Page(), advice.Failure, []string{graph, "proxy"}},
		"406":             {graph, releasetest.Refuse(http.StatusNotAcceptable, "invalid_content_type", "invalid Content-Type requested"), advice.Failure, []string{graph, "406", "invalid Content-Type requested"}},
		"500":             {graph, releasetest.Refuse(http.StatusInternalServerError, "failed_upstream_fetch", "upstream is gone"), advice.Failure, []string{graph, "500", "upstream is gone"}},
		"404":             {graph, registrytest.Status(http.StatusNotFound), advice.Failure, []string{"there is no update service at", graph, "check the address of the update service"}},
		"denied":          {graph, registrytest.Status(http.StatusForbidden), advice.Unauthorized, []string{graph, "403"}},
		"store is down":   {store, registrytest.Reset(), advice.Failure, []string{image, "is not trusted", s.server.Host + store}},
		"store is broken": {store, registrytest.Status(http.StatusInternalServerError), advice.Failure, []string{image, "500"}},
		"store is a page": {store, registrytest.Page(), advice.Mismatch, []string{image, "not an OpenPGP message"}},
		"store is denied": {store, registrytest.Status(http.StatusUnauthorized), advice.Unauthorized, []string{image, "401"}},
		"data cut short":  {data, registrytest.Cut(200), advice.Failure, []string{data, "graph"}},
		"data is gone":    {data, registrytest.Status(http.StatusNotFound), advice.Failure, []string{data, "404", "mirror.platform.graphData"}},
	} {
		s.server.Script(registrytest.Rule{Path: tc.path, Action: tc.action})
		u := s.updates(nil, updates.ReleaseTrust{})
		var err error
		switch tc.path {
		case graph:
			_, _, err = u.Graph(t.Context(), release.OCP, "fast-4.20", "amd64")
		case data:
			_, _, err = u.GraphData(t.Context())
		default:
			_, err = u.Signatures(t.Context(), release.OCP, s.payload.Digest)
		}
		s.server.Script()
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		mirrortest.Refused(t, err, tc.kind, tc.words...)
	}
	u := s.updates(&imageset.Releases{Channels: []imageset.ReleaseChannel{{Name: "fast-4.20", Product: release.OCP}}}, updates.ReleaseTrust{})
	_, _, err := u.Graph(t.Context(), release.OCP, "fast-4.02", "amd64")
	mirrortest.Refused(t, err, advice.Input, "fast-4.02", `did you mean "fast-4.20"?`)
}

// TestSignatures checks which signatures are accepted.
func TestSignatures(t *testing.T) {
	t.Parallel()
	s := newService(t)
	p, keys := s.payload, s.releases.Keys
	stranger, err := releasetest.NewKeys()
	fail.On(t, err)
	made := func(body []byte, err error) []byte {
		t.Helper()
		fail.On(t, err)
		return body
	}
	ref, other := p.Repository+":"+p.Name, s.releases.Payload("4.20.1-x86_64")
	own, strange := s.Path("release.asc"), s.Write("stranger.asc", string(stranger.OpenPGP))
	invalid := made(keys.SignInvalid(ref, p.Digest))
	for name, tc := range map[string]struct {
		body  []byte // nil is the true signature
		keys  []string
		words []string
	}{
		"tampered":       {body: invalid, words: []string{"invalid signature"}},
		"cut":            {body: s.releases.Signature(p.Digest)[:300], words: []string{"truncated"}},
		"other digest":   {body: s.releases.Signature(other.Digest), words: []string{"signs another image", other.Digest.String()}},
		"expired":        {body: made(keys.SignExpired(ref, p.Digest)), words: []string{"expired on 2025-01-02"}},
		"wrong key":      {body: made(stranger.Sign(ref, p.Digest)), words: []string{"which is not in keyring " + own}},
		"another key":    {keys: []string{strange}, words: []string{"which is not in keyring " + strange}},
		"second keyring": {keys: []string{own, strange}, words: []string{"no signature satisfies the keyring " + strange}},
		"empty":          {body: []byte{}, words: []string{"the file is empty"}},
	} {
		if tc.body != nil {
			s.server.Script(answer(p.Digest, tc.body))
		}
		trust := updates.ReleaseTrust{ReleaseKeys: tc.keys}
		_, err := s.updates(nil, trust).Signatures(t.Context(), release.OCP, p.Digest)
		s.server.Script()
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		mirrortest.Refused(t, err, advice.Mismatch, append(tc.words, p.Digest.String(), "is not trusted")...)
		// The signature in a plan is verified again.
		body := tc.body
		if body == nil {
			body = s.releases.Signature(p.Digest)
		}
		planned := plan.Release{Product: release.OCP, Version: "4.20.2", Arch: "amd64", Digest: p.Digest, Signatures: []plan.Signature{{Digest: p.Digest, Body: body}}}
		if err := s.updates(nil, trust).VerifyRelease(planned); err == nil {
			t.Errorf("%s: accepted in a plan", name)
		}
	}
	s.server.Script(registrytest.Rule{Path: p.Digest.Encoded(), Action: registrytest.Status(http.StatusNotFound)})
	_, err = s.updates(nil, updates.ReleaseTrust{}).Signatures(t.Context(), release.OCP, p.Digest)
	mirrortest.Refused(t, err, advice.Mismatch, "the store has no signature for the image")

	// An invalid signature has no effect if another signature in the store is valid.
	s.server.Script(answer(p.Digest, invalid), registrytest.Rule{Path: p.Digest.Encoded() + "/signature-2$", Action: func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		_, _ = rw.Write(s.releases.Signature(p.Digest))
	}})
	found, err := s.updates(nil, updates.ReleaseTrust{}).Signatures(t.Context(), release.OCP, p.Digest)
	if err != nil || !slices.ContainsFunc(found, func(b []byte) bool { return string(b) == string(s.releases.Signature(p.Digest)) }) {
		t.Errorf("%d signatures, %v", len(found), err)
	}
	s.server.Script()

	// The next store is used if one is down.
	down := registrytest.Serve(t, registrytest.Options{Rules: []registrytest.Rule{{Action: registrytest.Reset()}}}, http.NotFoundHandler())
	store := s.Vars[updates.SignatureURLVariable]
	delete(s.Vars, updates.SignatureURLVariable)
	u := s.updates(&imageset.Releases{SignatureStores: []string{down.URL(), store}}, updates.ReleaseTrust{})
	if found, err := u.Signatures(t.Context(), release.OCP, p.Digest); err != nil || len(found) != 1 || len(down.Log()) == 0 {
		t.Errorf("%d signatures, %v", len(found), err)
	}
}

// TestInvalidSettings checks that invalid addresses and keys are reported before any request, and without secrets.
func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store, graph := s.Vars[updates.SignatureURLVariable], s.Vars[updates.UpdateURLVariable]
	for word, tc := range map[string]struct{ store, graph, key string }{
		"contains credentials":                            {store: strings.Replace(store, "//", "//me:hidden@", 1) + "?token=hidden"},
		"the address must not have a query or a fragment": {store: store + "?token=hidden"},
		"write https://HOST/PATH":                         {store: "signatures"},
		"absent.asc":                                      {key: s.Path("absent.asc")},
		"registries.conf":                                 {key: s.Path("registries.conf")}, // not a key
		"is not http or https":                            {graph: "ftp://updates.example.com/graph?token=hidden"},
		"is malformed":                                    {graph: "http://updates.example.com/%zz?token=hidden"},
	} {
		s.Vars[updates.SignatureURLVariable], s.Vars[updates.UpdateURLVariable] = store, graph
		trust := updates.ReleaseTrust{}
		if tc.store != "" {
			s.Vars[updates.SignatureURLVariable] = tc.store
		}
		if tc.key != "" {
			trust.ReleaseKeys = []string{tc.key}
		}
		s.server.ResetLog()
		u := s.updates(nil, trust)
		err := u.Check()
		if tc.graph != "" {
			s.Vars[updates.UpdateURLVariable] = tc.graph
			_, _, err = u.Graph(context.WithoutCancel(t.Context()), release.OCP, "stable-4.20", "amd64")
		}
		mirrortest.Refused(t, err, advice.Input, word)
		if n := len(s.server.Log()); n > 0 || strings.Contains(env.ErrorText(err), "hidden") {
			t.Errorf("%s: %d requests, %v", word, n, err)
		}
	}
}

func TestReleaseTrust(t *testing.T) {
	t.Parallel()
	both := updates.ReleaseTrust{ReleaseKeys: []string{"a"}, IgnoreReleaseSignature: true}
	mirrortest.Refused(t, both.Check(), advice.Input, "Options.ReleaseKeys")
	for want, tc := range map[string]struct {
		trust    updates.ReleaseTrust
		releases bool
	}{
		"":                                  {releases: true},
		"without checking their signatures": {updates.ReleaseTrust{IgnoreReleaseSignature: true}, true},
		"Options.IgnoreReleaseSignature has no effect": {updates.ReleaseTrust{IgnoreReleaseSignature: true}, false},
		"Options.ReleaseKeys has no effect":            {updates.ReleaseTrust{ReleaseKeys: []string{"a"}}, false},
	} {
		var said []string
		hear := func(text string) { said = append(said, text) }
		updates.WarnTrust(&env.Env{Notice: hear, Warn: hear}, tc.trust, tc.releases)
		if got := strings.Join(said, "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// TestUntrustedReleaseIsNotRead checks that no content of a release is read whose signature clusters would not accept.
func TestUntrustedReleaseIsNotRead(t *testing.T) {
	t.Parallel()
	p := mirrortest.SmallPlatform(t)
	config := p.Config("imageset.yaml", "  platform: {graph: true, channels: [{name: fast-4.20}]}\n")
	head := p.Payload("4.20.2-x86_64")
	data := func(action registrytest.Action) registrytest.Rule {
		return registrytest.Rule{Path: releasetest.GraphDataPath, Action: action}
	}
	for _, tc := range []struct {
		rule  registrytest.Rule
		kind  advice.Kind
		words []string
	}{
		{answer(head.Digest, p.Releases.Signature(head.Digest)[:300]), advice.Mismatch, []string{head.Digest.String(), "is not trusted"}},
		{data(registrytest.Page()), advice.Failure, []string{releasetest.GraphDataPath, "graph"}},
		{data(registrytest.ShortBody(200)), advice.Failure, []string{releasetest.GraphDataPath, "graph"}},
	} {
		p.Service.Script(tc.rule)
		p.Source.ResetLog()
		_, err := planning.Make(t.Context(), p.PlanOptions(config))
		mirrortest.Refused(t, err, tc.kind, tc.words...)
		if plans, err := filepath.Glob(filepath.Join(p.Workspace(), "plans", "*")); err != nil || len(plans) > 0 {
			t.Errorf("there are plans: %v, %v", plans, err)
		}
		for _, r := range mirrortest.Requests(p.Source) {
			if tc.kind == advice.Mismatch && strings.Contains(r, "/openshift-release-dev/") {
				t.Errorf("%s: content of an untrusted release was read", r)
			}
		}
	}
	p.Service.Script()
	if r := p.Planned(config); len(r.Releases) != 1 {
		t.Errorf("%d releases are planned", len(r.Releases))
	}
}
