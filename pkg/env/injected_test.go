package env_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
)

// credentials is a Keychain with one credential for all hosts.
type credentials keychain.Credential

func (c credentials) Credential(context.Context, string, string) (keychain.Credential, error) {
	return keychain.Credential(c), nil
}

// roundTrip is a transport without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const tagList = `{"name":"team/app","tags":["v1","v2"]}`

// TestInjected reads tags with credentials and a transport of the program.
func TestInjected(t *testing.T) {
	t.Parallel()
	var asked, allowed atomic.Int64
	e := &env.Env{Getenv: func(string) string { return "" }, Home: t.TempDir(), Registries: env.Registries{
		Credentials: credentials{Username: "ci", Password: "pass"},
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked.Add(1)
			response := &http.Response{StatusCode: http.StatusUnauthorized, Request: r, Header: http.Header{"Www-Authenticate": {`Basic realm="r"`}}, Body: io.NopCloser(strings.NewReader(""))}
			if user, password, _ := r.BasicAuth(); user == "ci" && password == "pass" {
				allowed.Add(1)
				response.StatusCode, response.ContentLength = http.StatusOK, int64(len(tagList))
				response.Body = io.NopCloser(strings.NewReader(tagList))
			}
			return response, nil
		}),
	}}
	defer e.Close()
	c, err := e.Client(remote.Source)
	if err != nil {
		t.Fatal(err)
	}
	tags, err := c.Tags(t.Context(), reference.Reference{Host: "registry.invalid", Path: "team/app"}, 0)
	if err != nil || strings.Join(tags, " ") != "v1 v2" {
		t.Errorf("got %v, %v", tags, err)
	}
	if asked.Load() < 2 || allowed.Load() == 0 {
		t.Errorf("%d requests, %d with the credential", asked.Load(), allowed.Load())
	}
}

// TestFailingCredentials: an error of the program's credentials ends the request.
func TestFailingCredentials(t *testing.T) {
	t.Parallel()
	refused := errors.New("the vault is sealed")
	e := &env.Env{Getenv: func(string) string { return "" }, Home: t.TempDir(), Registries: env.Registries{
		Credentials: failing{refused},
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusUnauthorized, Request: r, Header: http.Header{"Www-Authenticate": {`Basic realm="r"`}}, Body: http.NoBody}, nil
		}),
	}}
	defer e.Close()
	c, err := e.Client(remote.Source)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tags(t.Context(), reference.Reference{Host: "registry.invalid", Path: "team/app"}, 0); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ error }

func (f failing) Credential(context.Context, string, string) (keychain.Credential, error) {
	return keychain.Credential{}, f.error
}

// TestRates checks values of rates that are none.
func TestRates(t *testing.T) {
	t.Parallel()
	for rate, want := range map[limits.Rate]advice.Kind{-1: advice.Input, 0: advice.Failure, 1 << 20: advice.Failure} {
		e := &env.Env{Getenv: func(string) string { return "" }, Home: t.TempDir(), Registries: env.Registries{Rate: rate, MinRate: env.NoMinRate}}
		_, err := e.Client(remote.Source)
		if got := advice.KindOf(err); (err != nil) != (want == advice.Input) || got != want {
			t.Errorf("%d: %v", rate, err)
		}
		e.Close()
	}
}
