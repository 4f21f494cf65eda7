// Package provision creates repositories and projects in registries that do not create them on push.
//
// What exists is left as it is, so that everything can be repeated. There are three kinds of registries:
//
//	ecr     Amazon ECR: a repository, with its API, which is signed with AWS credentials
//	harbor  Harbor: the project that is the first component of a path, with the credentials of the registry
//	quay    Quay: a repository of an organization, with an OAuth token of that organization
//
// New finds out the kind by the name of the host, or by the API of the registry. Commands returns commands
// that do the same with the tools aws and curl. Neither errors nor commands contain secrets.
package provision

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// Kind is a kind of registries.
type Kind string

// The kinds of registries.
const (
	ECR    Kind = "ecr"
	Harbor Kind = "harbor"
	Quay   Kind = "quay"
)

// Kinds returns all kinds.
func Kinds() []string { return []string{string(ECR), string(Harbor), string(Quay)} }

// maxAnswer is the maximum length of responses; the description of Quay's API has half a megabyte.
const maxAnswer = 8 << 20

// A Caller sends requests. *remote.Client is one.
type Caller interface {
	Call(ctx context.Context, call remote.Call) (*remote.Answer, error)
}

// Options say how a registry's API is reached. Host and Caller are required, the latter unless only Commands
// is called.
type Options struct {
	Host   string // of the registry, as in references
	Kind   Kind   // "" finds it out
	Base   string // of the registry's API; the default is https:// and Host
	Caller Caller
	// Credential is the one of the registry, for Harbor.
	Credential keychain.Credential
	// Token is an OAuth token, for Quay. It may be empty. TokenHint says how to set it.
	Token, TokenHint string
	// Getenv and Home are where AWS credentials are looked for.
	Getenv func(string) string
	Home   string
	// Now returns the time. Wait waits, or returns the error of the context.
	Now  func() time.Time
	Wait func(ctx context.Context, d time.Duration) error
}

// A Result is a repository or project that is needed.
type Result struct {
	// Name is the path of the repository, or the name of the project.
	Name string `json:"name"`
	// Created reports whether it was created. Otherwise it exists already.
	Created bool `json:"created"`
}

// A Registry is one that repositories are created in.
type Registry struct {
	Kind Kind
	o    Options
	ecr  ecrRegistry
}

// KindOf returns the kind that the name of a host says, or "".
func KindOf(host string) Kind {
	if _, ok := parseECR(host, nil); ok {
		return ECR
	}
	if host == "quay.io" {
		return Quay
	}
	return ""
}

// New returns the registry. It is asked for its kind only if neither Options nor the host's name say it.
func New(ctx context.Context, o Options) (*Registry, error) {
	o.Base = cmp.Or(o.Base, "https://"+o.Host)
	r := &Registry{Kind: o.Kind, o: o}
	found, isECR := parseECR(o.Host, o.Getenv)
	switch {
	case r.Kind != "" && !slices.Contains(Kinds(), string(r.Kind)):
		return nil, advice.New(advice.Input, "use "+strings.Join(Kinds(), ", "), "Options.RegistryKind %q is no kind of registries", r.Kind)
	case r.Kind == ECR && !isECR:
		return nil, advice.New(advice.Input, "write ACCOUNT.dkr.ecr.REGION.amazonaws.com", "%s is not the host of a registry of Amazon ECR", o.Host)
	case r.Kind == "":
		if r.Kind = KindOf(o.Host); r.Kind != "" {
			break
		}
		var err error
		if r.Kind, err = r.detect(ctx); err != nil {
			return nil, err
		}
	}
	r.ecr = found
	return r, nil
}

// detect asks a registry what it is. Harbor describes itself at /api/v2.0/systeminfo, Quay describes its API
// at /api/v1/discovery; neither asks for credentials.
func (r *Registry) detect(ctx context.Context) (Kind, error) {
	for _, probe := range []struct {
		kind Kind
		path string
		is   func(raw []byte) bool
	}{
		{Harbor, "/api/v2.0/systeminfo", func(raw []byte) bool {
			var info struct {
				AuthMode string `json:"auth_mode"`
			}
			return json.Unmarshal(raw, &info) == nil && info.AuthMode != ""
		}},
		{Quay, "/api/v1/discovery", func(raw []byte) bool {
			var api struct {
				Paths map[string]json.RawMessage `json:"paths"`
			}
			return json.Unmarshal(raw, &api) == nil && api.Paths["/api/v1/repository"] != nil
		}},
	} {
		answer, err := r.o.Caller.Call(ctx, remote.Call{Op: "asking for the kind of the registry", Method: http.MethodGet, URL: r.o.Base + probe.path, Limit: maxAnswer})
		if err != nil {
			return "", err
		}
		if answer.Status == http.StatusOK && probe.is(answer.Body) {
			return probe.kind, nil
		}
	}
	return "", advice.New(advice.Input, "set Options.RegistryKind to "+strings.Join(Kinds(), ", ")+"; other registries create repositories on push, or with a tool of their own",
		"%s is neither Amazon ECR nor Harbor nor Quay", r.o.Host)
}

// Names returns what has to exist for repositories with these paths: the paths themselves, or projects.
func (r *Registry) Names(paths []string) ([]string, error) {
	var names []string
	for _, path := range paths {
		first, _, nested := strings.Cut(path, "/")
		switch {
		case r.Kind == ECR:
			names = append(names, path)
		case !nested:
			what := map[Kind]string{Harbor: "project", Quay: "organization"}[r.Kind]
			return nil, advice.New(advice.Input, fmt.Sprintf("add the %s to the destination, as in docker://%s/%s", what, r.o.Host, strings.ToUpper(what)), "the repository %s at %s has no %s", path, r.o.Host, what)
		case r.Kind == Harbor:
			names = append(names, first)
		default:
			names = append(names, path)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Create creates what does not exist of names. It returns what was done before an error, too.
func (r *Registry) Create(ctx context.Context, names []string) (done []Result, err error) {
	create, err := r.creator()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		created, err := create(ctx, name)
		if err != nil {
			return done, err
		}
		done = append(done, Result{Name: name, Created: created})
	}
	return done, nil
}

// creator returns the function that creates one repository or project. It reads credentials.
func (r *Registry) creator() (func(ctx context.Context, name string) (bool, error), error) {
	switch r.Kind {
	case ECR:
		return r.ecrCreator()
	case Harbor:
		return r.harborCreator()
	}
	return r.quayCreator()
}

// Commands returns shell commands that create names.
func (r *Registry) Commands(names []string) (all []string, err error) {
	for _, name := range names {
		var command string
		switch r.Kind {
		case ECR:
			command = r.ecr.command(name)
		case Harbor:
			command, err = curl(`-u "$HARBOR_USER:$HARBOR_PASSWORD"`, harborProject(name), r.o.Base+harborProjects)
		default:
			command, err = curl(`-H "Authorization: Bearer $QUAY_TOKEN"`, quayRequest(name), r.o.Base+quayRepositories)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, command)
	}
	return all, nil
}

// curl returns a command that posts body as JSON.
func curl(authorization string, body any, address string) (string, error) {
	raw, err := json.Marshal(body)
	return fmt.Sprintf("curl -sS --fail-with-body %s -H 'Content-Type: application/json' -d '%s' %s", authorization, raw, address), err
}

// call sends JSON and returns the response.
func (r *Registry) call(ctx context.Context, op, method, address string, authorization string, body any) (*remote.Answer, error) {
	call := remote.Call{Op: op, Method: method, URL: address, Limit: maxAnswer, Header: func() http.Header {
		h := http.Header{"Accept": {"application/json"}}
		if body != nil {
			h.Set("Content-Type", "application/json")
		}
		if authorization != "" {
			h.Set("Authorization", authorization)
		}
		return h
	}}
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		call.Body = raw
	}
	return r.o.Caller.Call(ctx, call)
}

// refused returns the error of a response. hint is what to do if the credentials were refused.
func refused(op, host string, answer *remote.Answer, code, message, hint string) error {
	text := fmt.Sprintf("HTTP %d", answer.Status)
	if code != "" {
		text += " " + code
	}
	if message = redact.Text(message); len(message) > 500 {
		message = strings.ToValidUTF8(message[:500], "") + "..."
	}
	if message != "" {
		text = message + " (" + text + ")"
	}
	kind := advice.Failure
	if answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden {
		kind = advice.Unauthorized
	}
	return advice.New(kind, hint, "%s at %s: %s", op, host, text)
}
