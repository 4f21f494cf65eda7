package provision_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/provision"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

const (
	ecrHost = "123456789012.dkr.ecr.eu-central-1.amazonaws.com"
	secret  = "s3cr3t-value"
)

// An api emulates the API of one kind of registries.
type api struct {
	t      *testing.T
	kind   provision.Kind
	exists map[string]bool
	posts  int
	// deny is a name that may not be created. throttle is how many requests are too many.
	deny     string
	throttle int
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Error(err)
	}
	answer := func(status int, text string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the client may be gone
	}
	route := r.Method + " " + r.URL.Path
	switch {
	case a.kind == provision.Harbor && route == "GET /api/v2.0/systeminfo":
		answer(http.StatusOK, `{"auth_mode":"db_auth","registry_url":"h"}`)
	case a.kind == provision.Quay && route == "GET /api/v1/discovery":
		answer(http.StatusOK, `{"swagger":"2.0","paths":{"/api/v1/repository":{}}}`)
	case a.kind == provision.ECR && route == "POST /":
		a.ecr(answer, r, body)
	case a.kind == provision.Harbor && r.URL.Path == "/api/v2.0/projects":
		a.harbor(answer, r, body)
	case a.kind == provision.Quay && strings.HasPrefix(r.URL.Path, "/api/v1/repository"):
		a.quay(answer, r, body)
	default:
		answer(http.StatusNotFound, `{}`)
	}
}

func (a *api) ecr(answer func(int, string), r *http.Request, body []byte) {
	var request struct{ RegistryID, RepositoryName, ImageTagMutability string }
	if err := json.Unmarshal(body, &request); err != nil || request.RegistryID != "123456789012" || request.ImageTagMutability != "MUTABLE" {
		a.t.Errorf("%s: %v", body, err)
	}
	if r.Header.Get("X-Amz-Target") != "AmazonEC2ContainerRegistry_V20150921.CreateRepository" || r.Header.Get("Content-Type") != "application/x-amz-json-1.1" || r.Header.Get("X-Amz-Date") != "20261123T120000Z" {
		a.t.Errorf("header %v", r.Header)
	}
	want := "AWS4-HMAC-SHA256 Credential=AKID/20261123/eu-central-1/ecr/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature="
	if !strings.HasPrefix(r.Header.Get("Authorization"), want) || r.Header.Get("X-Amz-Security-Token") != "session" {
		a.t.Errorf("header %v", r.Header)
	}
	a.posts++
	name := request.RepositoryName
	switch {
	case a.throttle > 0:
		a.throttle--
		answer(http.StatusBadRequest, `{"__type":"ThrottlingException","message":"Rate exceeded"}`)
	case name == a.deny:
		answer(http.StatusBadRequest, `{"__type":"AccessDeniedException","message":"User is not authorized"}`)
	case a.exists[name]:
		answer(http.StatusBadRequest, `{"__type":"com.amazonaws#RepositoryAlreadyExistsException","message":"exists"}`)
	default:
		a.exists[name] = true
		answer(http.StatusOK, `{"repository":{}}`)
	}
}

func (a *api) harbor(answer func(int, string), r *http.Request, body []byte) {
	if user, password, _ := r.BasicAuth(); user != "ci" || password != secret {
		answer(http.StatusUnauthorized, `{"errors":[{"code":"UNAUTHORIZED","message":"unauthorized"}]}`)
		return
	}
	if r.Method == http.MethodHead {
		status := http.StatusNotFound
		if a.exists[r.URL.Query().Get("project_name")] {
			status = http.StatusOK
		}
		answer(status, "")
		return
	}
	var request struct {
		Name     string            `json:"project_name"`
		Metadata map[string]string `json:"metadata"`
	}
	if err := json.Unmarshal(body, &request); err != nil || request.Metadata["public"] != "false" {
		a.t.Errorf("%s: %v", body, err)
	}
	a.posts++
	switch request.Name {
	case a.deny:
		answer(http.StatusForbidden, `{"errors":[{"code":"FORBIDDEN","message":"only administrators create projects"}]}`)
	case "race":
		answer(http.StatusConflict, `{"errors":[{"code":"CONFLICT","message":"exists"}]}`)
	default:
		a.exists[request.Name] = true
		answer(http.StatusCreated, "")
	}
}

func (a *api) quay(answer func(int, string), r *http.Request, body []byte) {
	if r.Header.Get("Authorization") != "Bearer "+secret {
		answer(http.StatusUnauthorized, `{"status":401,"error_type":"invalid_token","detail":"Invalid token"}`)
		return
	}
	if r.Method == http.MethodGet {
		status := http.StatusNotFound
		if a.exists[strings.TrimPrefix(r.URL.Path, "/api/v1/repository/")] {
			status = http.StatusOK
		}
		answer(status, "{}")
		return
	}
	var request struct{ Namespace, Repository, Visibility string }
	if err := json.Unmarshal(body, &request); err != nil || request.Visibility != "private" || !strings.Contains(string(body), `"description"`) {
		a.t.Errorf("%s: %v", body, err)
	}
	a.posts++
	name := request.Namespace + "/" + request.Repository
	if name == a.deny {
		answer(http.StatusForbidden, `{"status":403,"error_type":"insufficient_scope","detail":"Unauthorized"}`)
		return
	}
	a.exists[name] = true
	answer(http.StatusCreated, "{}")
}

// open returns the registry of an emulated API.
func open(t *testing.T, a *api, change func(*provision.Options)) (*provision.Registry, error) {
	t.Helper()
	a.t = t
	if a.exists == nil {
		a.exists = map[string]bool{}
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	client, err := remote.New(remote.Options{Side: remote.Destination, Retry: remote.Retry{Times: -1}})
	fail.On(t, err)
	t.Cleanup(client.Close)
	env := map[string]string{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "session", "AWS_ENDPOINT_URL_ECR": server.URL}
	o := provision.Options{
		Host: strings.TrimPrefix(server.URL, "http://"), Base: server.URL, Caller: client, Token: secret, TokenHint: "set the token",
		Credential: keychain.Credential{Username: "ci", Password: secret}, Getenv: func(name string) string { return env[name] },
		Now:  func() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) },
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	if a.kind == provision.ECR {
		o.Host = ecrHost
	}
	if change != nil {
		change(&o)
	}
	return provision.New(t.Context(), o)
}

func TestCreate(t *testing.T) {
	t.Parallel()
	paths := []string{"ocp/gantry/lease", "ocp/ubi9/ubi", "race/x", "ocp/gantry/lease"}
	for kind, names := range map[provision.Kind][]string{
		provision.ECR:    {"ocp/gantry/lease", "ocp/ubi9/ubi", "race/x"},
		provision.Quay:   {"ocp/gantry/lease", "ocp/ubi9/ubi", "race/x"},
		provision.Harbor: {"ocp", "race"},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			a := &api{kind: kind, throttle: 2}
			r, err := open(t, a, nil)
			if err != nil || r.Kind != kind {
				t.Fatalf("%+v, %v", r, err)
			}
			got, err := r.Names(paths)
			if diff := cmp.Diff(names, got); diff != "" || err != nil {
				t.Fatal(diff, err)
			}
			done, err := r.Create(t.Context(), names)
			if err != nil || len(done) != len(names) {
				t.Fatal(done, err)
			}
			for _, d := range done {
				if want := kind != provision.Harbor || d.Name != "race"; d.Created != want {
					t.Errorf("first time: %+v", d)
				}
			}
			a.exists["race"] = true
			done, err = r.Create(t.Context(), names)
			if err != nil || slices.ContainsFunc(done, func(d provision.Result) bool { return d.Created }) {
				t.Error("second time:", done, err)
			}
			if kind != provision.ECR && a.posts != len(names) {
				t.Errorf("%d requests to create %d", a.posts, len(names))
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kind   provision.Kind
		change func(*provision.Options)
		want   []string
	}{
		{"ecr", provision.ECR, nil, []string{"ocp/b", "AccessDeniedException", "ecr:CreateRepository", "the environment"}},
		{"ecr without keys", provision.ECR, func(o *provision.Options) {
			o.Getenv, o.Home = func(string) string { return "" }, t.TempDir()
		}, []string{"no AWS credentials", ".aws", "Options.Print"}},
		{"harbor", provision.Harbor, nil, []string{"ocp/b", "only administrators create projects", "HTTP 403 FORBIDDEN"}},
		{"harbor password", provision.Harbor, func(o *provision.Options) { o.Credential.Password = secret + "-wrong" }, []string{"ocp/a", "HTTP 401"}},
		{"harbor anonymous", provision.Harbor, func(o *provision.Options) { o.Credential = keychain.Credential{} }, []string{"no user and password", "gantry registry login"}},
		{"quay", provision.Quay, nil, []string{"ocp/b", "Unauthorized", "insufficient_scope", "organization ocp"}},
		{"quay token", provision.Quay, func(o *provision.Options) { o.Token = secret + "-wrong" }, []string{"ocp/a", "Invalid token", "HTTP 401"}},
		{"quay without token", provision.Quay, func(o *provision.Options) { o.Token = "" }, []string{"OAuth token", "set the token"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := open(t, &api{kind: c.kind, deny: "ocp/b"}, c.change)
			fail.On(t, err)
			done, err := r.Create(t.Context(), []string{"ocp/a", "ocp/b", "ocp/c"})
			if err == nil || advice.KindOf(err) != advice.Unauthorized {
				t.Fatalf("%v %v", advice.KindOf(err), err)
			}
			if len(done) > 1 {
				t.Errorf("done: %v", done)
			}
			text := fmt.Sprint(err, advice.Hints(err))
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in %s", want, text)
				}
			}
			if strings.Contains(text, secret) {
				t.Errorf("secret in %s", text)
			}
		})
	}
}

func TestUnknownKind(t *testing.T) {
	t.Parallel()
	if _, err := open(t, &api{kind: "other"}, nil); advice.KindOf(err) != advice.Input || !strings.Contains(fmt.Sprint(advice.Hints(err)), "Options.RegistryKind") {
		t.Error(err)
	}
	if _, err := open(t, &api{kind: "other"}, func(o *provision.Options) { o.Kind = "nexus" }); advice.KindOf(err) != advice.Input {
		t.Error(err)
	}
	if _, err := open(t, &api{kind: "other"}, func(o *provision.Options) { o.Kind = provision.ECR }); advice.KindOf(err) != advice.Input {
		t.Error(err)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for kind, want := range map[provision.Kind]string{
		provision.ECR:    "aws ecr create-repository --region eu-central-1 --registry-id 123456789012 --image-tag-mutability MUTABLE --repository-name ocp/ubi9/ubi",
		provision.Harbor: `curl -sS --fail-with-body -u "$HARBOR_USER:$HARBOR_PASSWORD" -H 'Content-Type: application/json' -d '{"project_name":"ocp","metadata":{"public":"false"}}' https://h.example.com/api/v2.0/projects`,
		provision.Quay:   `curl -sS --fail-with-body -H "Authorization: Bearer $QUAY_TOKEN" -H 'Content-Type: application/json' -d '{"namespace":"ocp","repository":"ubi9/ubi","visibility":"private","description":"","repo_kind":"image"}' https://h.example.com/api/v1/repository`,
	} {
		o := provision.Options{Host: "h.example.com", Kind: kind, Token: secret}
		if kind == provision.ECR {
			o.Host = ecrHost
		}
		r, err := provision.New(t.Context(), o)
		fail.On(t, err)
		names, err := r.Names([]string{"ocp/ubi9/ubi"})
		fail.On(t, err)
		got, err := r.Commands(names)
		if diff := cmp.Diff([]string{want}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	for _, kind := range []provision.Kind{provision.Harbor, provision.Quay} {
		r, err := provision.New(t.Context(), provision.Options{Host: "h.example.com", Kind: kind})
		fail.On(t, err)
		if _, err := r.Names([]string{"ubi"}); advice.KindOf(err) != advice.Input {
			t.Error(kind, err)
		}
	}
}
