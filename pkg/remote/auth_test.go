package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// keys is a keychain with one credential.
type keys keychain.Credential

func (k keys) Credential(context.Context, string, string) (keychain.Credential, error) {
	return keychain.Credential(k), nil
}

// A tokenServer guards a registry with tokens, each good for a number of uses.
type tokenServer struct {
	mu      sync.Mutex
	realm   string // "" means this server
	expires int
	valid   map[string]int
	asked   []string // method, user and scopes of the requests for tokens
}

func (a *tokenServer) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if r.URL.Path == "/token" {
			a.issue(w, r)
			return
		}
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if a.valid[token] > 0 {
			if r.URL.Path != "/v2/" {
				a.valid[token]--
			}
			next.ServeHTTP(w, r)
			return
		}
		realm := a.realm
		if realm == "" {
			realm = "http://" + r.Host + "/token"
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=\"the service\"", realm))
		w.WriteHeader(http.StatusUnauthorized)
	})
}

func (a *tokenServer) issue(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if err := r.ParseForm(); err != nil || password == "wrong" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"details":"no access for %s and its password %s"}`, user, password)
		return
	}
	if r.Form.Get("refresh_token") == "old" { // RFC 6749, section 5.2
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"error":"invalid_grant","error_description":"the token has expired"}`)
		return
	}
	who := user
	if r.Form.Get("refresh_token") != "" {
		who = r.Form.Get("grant_type") + " " + r.Form.Get("refresh_token")
	}
	a.asked = append(a.asked, strings.Join(append([]string{r.Method, who, r.Form.Get("service")}, r.Form["scope"]...), "|"))
	token := fmt.Sprintf("token-%d", len(a.asked))
	a.valid[token] = 3
	_, _ = fmt.Fprintf(w, `{"token":%q,"expires_in":%d}`, token, a.expires)
}

func TestTokens(t *testing.T) {
	pull := "repository:org/name:pull"
	for _, tc := range []struct {
		name  string
		cred  keychain.Credential
		asked []string
		reads int
		err   string
	}{
		{name: "anonymous", reads: 3, asked: []string{"GET||the service|" + pull}},
		{name: "user", cred: keychain.Credential{Username: "me", Password: "pw"}, reads: 3, asked: []string{"GET|me|the service|" + pull}},
		{name: "identity token", cred: keychain.Credential{IdentityToken: "refresh"}, reads: 1, asked: []string{"POST|refresh_token refresh|the service|" + pull}},
		{name: "the registry takes a token back", reads: 5, asked: []string{"GET||the service|" + pull, "GET||the service|" + pull}},
		{name: "registry token", cred: keychain.Credential{RegistryToken: "mine"}, reads: 2},
		{name: "expired identity token", cred: keychain.Credential{IdentityToken: "old", Source: "/some/auth.json"}, reads: 2, err: "the token has expired"},
		{name: "wrong password", cred: keychain.Credential{Username: "me", Password: "wrong", Source: "/some/auth.json"}, reads: 1, err: "no access for me and its password [redacted]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &tokenServer{valid: map[string]int{"mine": 99, "seed": 99}, expires: 300}
			s := startRegistry(t, a.wrap)
			blob := []byte("{}")
			c := newClient(t, remote.Options{Side: remote.Destination, Keychain: keys{RegistryToken: "seed"}})
			fail.On(t, c.PushManifest(t.Context(), repoAt(s, "org/name").WithTag("v1"), "m/m", manifestOf(blob)))
			c = newClient(t, remote.Options{Keychain: keys(tc.cred)})
			for range tc.reads {
				_, err := c.Resolve(t.Context(), repoAt(s, "org/name").WithTag("v1"))
				if tc.err == "" && err != nil {
					t.Fatal(err)
				}
				if tc.err != "" {
					if !errors.Is(err, remote.ErrUnauthorized) || !strings.Contains(advice.Text(err), tc.err) || !strings.Contains(advice.Text(err), "/some/auth.json") {
						t.Errorf("got %v", err)
					}
				}
			}
			fail.Diff(t, tc.asked, a.asked)
		})
	}
}

func TestTokenIsFetchedOnce(t *testing.T) {
	a := &tokenServer{valid: map[string]int{}, expires: 100}
	s := startRegistry(t, func(next http.Handler) http.Handler {
		return a.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for k := range a.valid {
				a.valid[k] = 99
			}
			next.ServeHTTP(w, r)
		}))
	})
	c := newClient(t, remote.Options{})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, _, err := c.ManifestExists(t.Context(), repoAt(s, "a").WithTag("v1")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if r := c.Stats().Requests; len(a.asked) != 1 || r["GET ping"] != 2 {
		t.Errorf("%d tokens, %d pings (one with TLS, one without)", len(a.asked), r["GET ping"])
	}
}

func TestBasic(t *testing.T) {
	s := startRegistry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, pw, _ := r.BasicAuth(); user != "me" || pw != "s3cret:x" {
				w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = fmt.Fprintf(w, `{"errors":[{"code":"UNAUTHORIZED","message":"%s is wrong, see https://x.example/a?sig=abc"}]}`, pw)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	ref := repoAt(s, "a").WithTag("v1")
	good := newClient(t, remote.Options{Keychain: keys{Username: "me", Password: "s3cret:x"}})
	if _, ok, err := good.ManifestExists(t.Context(), ref); ok || err != nil {
		t.Error(ok, err)
	}
	bad := newClient(t, remote.Options{Keychain: keys{Username: "me", Password: "wr0ng", Source: "file"}})
	_, _, err := bad.Manifest(t.Context(), ref)
	if !errors.Is(err, remote.ErrUnauthorized) || strings.Contains(advice.Text(err), "wr0ng") || strings.Contains(advice.Text(err), "sig=") {
		t.Errorf("got %v", err)
	}
	fail.Diff(t, int64(1), bad.Stats().Requests["GET manifest"])
	_, _, err = newClient(t, remote.Options{Side: remote.Destination}).Manifest(t.Context(), ref)
	if err == nil || !strings.Contains(advice.Text(err), "gantry registry login "+ref.Host) || !strings.Contains(advice.Text(err), "Options.Destination.AuthFile") {
		t.Errorf("without credentials the hint is missing: %v", err)
	}
}

func TestEvilAddresses(t *testing.T) {
	// What the registry, which speaks TLS and has a public name, must not make
	// us go to.
	for _, evil := range []string{
		"http://registry.example/x", "https://127.0.0.1/x", "https://localhost:8443/x", "https://[::1]/x",
		"https://0.0.0.0/x", "https://169.254.169.254/latest", "https://[::ffff:127.0.0.1]/x", "file:///etc/passwd",
		"https://user:pw@cdn.example/x", "https://LOCALHOST./x", "", "https:///x", "%zz", "https://$(reboot).example/x", "https://a;reboot;.example/x",
	} {
		for _, place := range []string{"realm", "redirect", "location", "page"} {
			t.Run(place+" "+evil, func(t *testing.T) {
				var reached []string
				c := newClient(t, remote.Options{
					Side: remote.Destination, SkipVerify: true, Clock: newClock(), Keychain: keys{Username: "u", Password: "p"},
					Proxy: throughTLS(t, func(w http.ResponseWriter, r *http.Request) {
						reached = append(reached, r.Host+r.URL.Path)
						answerEvil(w, r, place, evil)
					}),
				})
				repo := mustParse(t, "registry.example/a")
				var err error
				switch place {
				case "location":
					_, err = c.PushBlob(t.Context(), repo, describe([]byte("x")), nil, opener([]byte("x")))
				case "page":
					_, err = c.Tags(t.Context(), repo, 0)
				default:
					_, _, err = c.Manifest(t.Context(), repo.WithTag("v1"))
				}
				if evil == "" && place != "location" {
					if err == nil {
						t.Error("no error")
					}
				} else if !errors.Is(err, remote.ErrRefused) {
					t.Errorf("got %v", err)
				}
				if err != nil && strings.Contains(advice.Text(err), "pw@") {
					t.Errorf("the error shows a password: %v", err)
				}
				for _, to := range reached {
					if !strings.HasPrefix(to, "registry.example") || strings.HasSuffix(to, "/x") {
						t.Errorf("it went to %s", to)
					}
				}
			})
		}
	}
}

func answerEvil(w http.ResponseWriter, r *http.Request, place, evil string) {
	switch {
	case place == "realm":
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+evil+`",service="s"`)
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/v2/":
	case place == "redirect":
		w.Header().Set("Location", evil)
		w.WriteHeader(http.StatusTemporaryRedirect)
	case place == "page":
		w.Header().Set("Link", "<"+evil+`>; rel="next"`)
		_, _ = fmt.Fprint(w, `{"tags":["a"]}`)
	default:
		w.Header().Set("Location", evil)
		w.WriteHeader(http.StatusAccepted)
	}
}

// throughTLS is a proxy that answers for every host with TLS.
func throughTLS(t *testing.T, f http.HandlerFunc) func(*http.Request) (*url.URL, error) {
	t.Helper()
	inner := httptest.NewUnstartedServer(f)
	conns := newConnListener()
	inner.Listener = conns
	inner.StartTLS()
	t.Cleanup(inner.Close)
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			f(w, r)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
		conns.hand(conn)
	})
	u, err := url.Parse(proxy.URL)
	fail.On(t, err)
	return http.ProxyURL(u)
}

func TestRedirectsDropAuthorization(t *testing.T) {
	blob := []byte("on the CDN")
	seen := map[string]string{}
	var mu sync.Mutex
	c := newClient(t, remote.Options{
		SkipVerify: true, Keychain: keys{Username: "u", Password: "p"},
		Proxy: throughTLS(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen[r.Host+r.URL.RequestURI()] = r.Header.Get("Authorization")
			switch {
			case r.Host == "registry.example" && r.Header.Get("Authorization") == "":
				w.Header().Set("WWW-Authenticate", "Basic realm=x")
				w.WriteHeader(http.StatusUnauthorized)
			case r.Host == "cdn.example" && r.URL.Path == "/first":
				http.Redirect(w, r, "https://cdn.example/second?sig=a%2Fb", http.StatusFound)
			case r.Host == "cdn.example":
				_, _ = w.Write(blob)
			case strings.Contains(r.URL.Path, "/blobs/"):
				http.Redirect(w, r, "https://cdn.example/first", http.StatusTemporaryRedirect)
			}
		}),
	})
	r, err := c.Blob(t.Context(), mustParse(t, "registry.example/a"), describe(blob), 0)
	fail.On(t, err)
	fail.On(t, r.Close())
	want := map[string]string{
		"registry.example/v2/": "",
		"registry.example/v2/a/blobs/" + describe(blob).Digest.String(): "Basic dTpw",
		"cdn.example/first":            "",
		"cdn.example/second?sig=a%2Fb": "",
	}
	fail.Diff(t, want, seen)
}
