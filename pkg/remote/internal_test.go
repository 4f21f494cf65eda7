package remote

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestChallenges(t *testing.T) {
	for in, want := range map[string][]challenge{
		"":      nil,
		"Basic": {{"basic", map[string]string{}}},
		`Bearer realm="https://a.io/token",service="a.io",scope="repository:a/b:pull,push"`: {
			{"bearer", map[string]string{"realm": "https://a.io/token", "service": "a.io", "scope": "repository:a/b:pull,push"}},
		},
		`Basic realm="x, y", Bearer realm=https://a.io/t , error="invalid_token"`: {
			{"basic", map[string]string{"realm": "x, y"}},
			{"bearer", map[string]string{"realm": "https://a.io/t", "error": "invalid_token"}},
		},
		`BEARER REALM = "a\"b"`: {{"bearer", map[string]string{"realm": `a"b`}}},
		`realm="no scheme"`:     nil,
		`Bearer realm="open`:    {{"bearer", map[string]string{"realm": "open"}}},
	} {
		fail.Diff(t, want, parseChallenges(in), cmp.AllowUnexported(challenge{}))
	}
	fail.Diff(t, "bearer", bestChallenge([]string{`Basic realm="x"`, `Bearer realm="https://a.io/t"`}).scheme)
	fail.Diff(t, "basic", bestChallenge([]string{`Bearer service="no realm"`, `Basic realm="x"`}).scheme)
}

// Parsed challenges can be written and parsed again, and the parser ends.
func FuzzChallenges(f *testing.F) {
	f.Add(`Bearer realm="https://a.io/token",service="a.io"`)
	f.Add(`Basic realm="x\"", Bearer realm=a , x`)
	f.Fuzz(func(t *testing.T, s string) {
		list := parseChallenges(s)
		var written string
		for _, c := range list {
			if c.scheme == "" {
				t.Fatalf("%q gives a challenge without a scheme", s)
			}
			written += c.scheme
			sep := " "
			for k, v := range c.params {
				quoted := ""
				for i := range len(v) {
					if v[i] == '"' || v[i] == '\\' {
						quoted += `\`
					}
					quoted += v[i : i+1]
				}
				written += sep + k + `="` + quoted + `"`
				sep = ","
			}
			written += ", "
		}
		if diff := cmp.Diff(list, parseChallenges(written), cmp.AllowUnexported(challenge{})); diff != "" {
			t.Fatalf("%q was written as %q: %s", s, written, diff)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "0": 0, "12": 12 * time.Second, " 3 ": 3 * time.Second, "-5": 0, "soon": 0, "1.5": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		fail.Diff(t, want, retryAfter(in, now))
	}
}

func TestStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(4)
		for range 4 {
			fail.On(t, s.acquire(t.Context()))
		}
		ctx, cancel := context.WithCancel(t.Context())
		var first, second error
		done := make(chan string, 2)
		go func() { first = s.acquire(ctx); done <- "first" }()
		synctest.Wait()
		go func() { second = s.acquire(t.Context()); done <- "second" }()
		synctest.Wait()
		cancel()
		if who := <-done; who != "first" || !errors.Is(first, context.Canceled) {
			t.Errorf("%s: %v", who, first)
		}
		s.release()
		if <-done; second != nil {
			t.Error(second)
		}
	})
}
