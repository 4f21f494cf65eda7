package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// An issuer protects a registry with tokens and records what they were requested for.
type issuer struct {
	mu    sync.Mutex
	asked []string // scopes
	valid string   // the one token that is accepted
}

// revoke invalidates the last token.
func (i *issuer) revoke() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.valid = ""
}

func (i *issuer) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		if r.URL.Path == "/token" {
			defer i.mu.Unlock()
			i.asked = append(i.asked, strings.Join(r.URL.Query()["scope"], " "))
			if i.valid == "" {
				i.valid = fmt.Sprintf("token-%d", len(i.asked))
			}
			_, _ = fmt.Fprintf(w, `{"token":%q,"expires_in":300}`, i.valid)
			return
		}
		ok := i.valid != "" && r.Header.Get("Authorization") == "Bearer "+i.valid
		i.mu.Unlock()
		if !ok {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q", "http://"+r.Host+"/token"))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// An upload whose token expires between two parts continues with a new one, and sends no part
// again.
func TestTokenExpiresInUpload(t *testing.T) {
	const part = 2 * mib
	blob := noise(6 * mib)
	i := &issuer{}
	u := &sessionServer{
		faults: map[string]fault{"PATCH 1": also(func(*sessionServer, *session, http.ResponseWriter, *http.Request) { i.revoke() })},
		signed: true, seen: map[string]int{}, sessions: map[string]*session{}, blobs: map[string][]byte{},
	}
	s := startRegistry(t, func(http.Handler) http.Handler { return i.wrap(u) })
	c := newClient(t, remote.Options{Side: remote.Destination, Clock: newClock(), Keychain: keys(keychain.Credential{Username: "me", Password: "pw"})})
	var opened []int64
	err := c.PushInChunks(t.Context(), repoAt(s, "org/name"), describe(blob), func(_ context.Context, offset int64) (io.ReadCloser, error) {
		opened = append(opened, offset)
		return io.NopCloser(bytes.NewReader(blob[offset:])), nil
	}, part)
	fail.On(t, err)
	if u.took != len(blob) || !slices.Equal(opened, []int64{0, part}) || len(i.asked) != 2 || c.Stats().Retries != 0 {
		t.Errorf("%d bytes came for %d, from sources at %d, with %d tokens and %d retries", u.took, len(blob), opened, len(i.asked), c.Stats().Retries)
	}
	if !bytes.Equal(u.blobs[describe(blob).Digest.String()], blob) {
		t.Error("the registry has another blob")
	}
}

// Downloads that break after their token expired continue at their offset, with one new token for
// all.
func TestTokenExpiresInDownloads(t *testing.T) {
	const n, first = 8, 100_000
	blob := noise(mib)
	i := &issuer{}
	var once sync.Once
	var broken sync.WaitGroup // all have the beginning of a blob
	broken.Add(n)
	s := startRegistry(t, func(http.Handler) http.Handler {
		return i.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/v2/":
			case r.Header.Get("Range") != "":
				partly(blob, len(blob), true)(w, r)
			default:
				partly(blob, first, true)(w, r)
				broken.Done()
				broken.Wait()
				once.Do(i.revoke)
			}
		}))
	})
	c := newClient(t, remote.Options{Clock: newClock()})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if got, err := readBlob(t.Context(), c, s, blob); err != nil || !bytes.Equal(got, blob) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
	wg.Wait()
	if read := c.Stats().BytesRead; read >= n*mib+first { // with the tokens
		t.Errorf("%d bytes were read for %d", read, n*mib)
	}
	fail.Diff(t, 2, len(i.asked))
}

// A run needs one token for each action in a repository, including mounts from others.
func TestTokensOfARun(t *testing.T) {
	i := &issuer{}
	s := startRegistry(t, i.wrap)
	c := newClient(t, remote.Options{Side: remote.Destination})
	var wg sync.WaitGroup
	for n := range 60 {
		wg.Go(func() {
			blob := noise(1000 + n)
			var from []string
			if n%3 > 0 {
				from = []string{"org/first"}
			}
			if _, err := c.PushBlob(t.Context(), repoAt(s, fmt.Sprintf("org/name%d", n%2)), describe(blob), from, opener(blob)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	slices.Sort(i.asked)
	if diff := cmp.Diff(slices.Compact(slices.Clone(i.asked)), i.asked); diff != "" || len(i.asked) > 4 {
		t.Errorf("tokens that were requested again: %s", diff)
	}
}

// If several tokens of a repository expire at once, for any scopes, the requests with them are sent
// again with new ones.
func TestAllTokensExpire(t *testing.T) {
	i := &generation{}
	s := startRegistry(t, i.wrap)
	c := newClient(t, remote.Options{Side: remote.Destination, Keychain: keys(keychain.Credential{Username: "me", Password: "pw"})})
	push := func(n int, from ...string) {
		t.Helper()
		blob := noise(1000 + n)
		if _, err := c.PushBlob(t.Context(), repoAt(s, "org/name"), describe(blob), from, opener(blob)); err != nil {
			t.Error(err)
		}
	}
	for n, from := range [][]string{nil, {"org/a"}, {"org/b"}, {"org/c"}} {
		push(n, from...)
	}
	asked := i.asked
	i.next()
	push(10)
	if i.asked != asked+1 {
		t.Errorf("%d tokens were requested in place of expired ones, want one", i.asked-asked)
	}
	// The last of them is not the first to be refused: those after it ran out, too.
	push(11, "org/a")
	push(12, "org/b")
	i.next()
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() { push(20+n, []string{"org/a", "org/b", "org/c"}[n%3]) })
	}
	wg.Wait()
	fail.Diff(t, int64(0), c.Stats().Retries)
}

// A generation protects a registry with tokens that all become invalid in the next one.
type generation struct {
	mu    sync.Mutex
	now   int
	asked int
}

func (g *generation) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
}

func (g *generation) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		token := fmt.Sprintf("g%d-", g.now)
		if r.URL.Path == "/token" {
			g.asked++
			_, _ = fmt.Fprintf(w, `{"token":"%s%d","expires_in":300}`, token, g.asked)
		}
		ok := strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "+token)
		g.mu.Unlock()
		switch {
		case r.URL.Path == "/token":
		case ok:
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q", "http://"+r.Host+"/token"))
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
}
