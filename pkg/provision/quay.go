package provision

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// quayRepositories is the path of Quay's API for repositories.
//
// Source: the chapter repository of the Red Hat Quay API reference, 3.17. POST responds 201; GET with the path
// of a repository responds 200, or 404 if there is none.
const quayRepositories = "/api/v1/repository"

// A quayRepository is the body that creates a repository.
type quayRepository struct {
	Namespace   string `json:"namespace"`
	Repository  string `json:"repository"`
	Visibility  string `json:"visibility"`
	Description string `json:"description"`
	Kind        string `json:"repo_kind"`
}

// quayRequest returns the request for a private repository.
func quayRequest(path string) quayRepository {
	namespace, repository, _ := strings.Cut(path, "/")
	return quayRepository{Namespace: namespace, Repository: repository, Visibility: "private", Kind: "image"}
}

func (r *Registry) quayCreator() (func(ctx context.Context, name string) (bool, error), error) {
	if r.o.Token == "" {
		return nil, advice.New(advice.Unauthorized, r.o.TokenHint, "Quay's API at %s requires an OAuth token with the permissions repo:create and repo:read", r.o.Host)
	}
	authorization := "Bearer " + r.o.Token
	return func(ctx context.Context, name string) (bool, error) {
		organization, _, _ := strings.Cut(name, "/")
		hint := "create the organization " + organization + " if it does not exist, and use a token of it with the permissions repo:create and repo:read"
		op := "looking for the repository " + name
		answer, err := r.call(ctx, op, http.MethodGet, r.o.Base+quayRepositories+"/"+name+"?includeTags=false", authorization, nil)
		if err != nil {
			return false, err
		}
		switch answer.Status {
		case http.StatusOK:
			return false, nil
		case http.StatusNotFound: // created below
		default:
			return false, quayRefused(r, op, answer.Status, answer.Body, hint)
		}
		op = "creating the repository " + name
		answer, err = r.call(ctx, op, http.MethodPost, r.o.Base+quayRepositories, authorization, quayRequest(name))
		if err != nil {
			return false, err
		}
		if answer.Status == http.StatusCreated {
			return true, nil
		}
		return false, quayRefused(r, op, answer.Status, answer.Body, hint)
	}, nil
}

// quayRefused returns the error of a response.
func quayRefused(r *Registry, op string, status int, body []byte, hint string) error {
	var text struct {
		Detail       string `json:"detail"`
		ErrorMessage string `json:"error_message"`
		Message      string `json:"message"`
		ErrorType    string `json:"error_type"`
	}
	_ = json.Unmarshal(body, &text) // otherwise there is only the status
	return refused(op, r.o.Host, &remote.Answer{Status: status}, text.ErrorType, cmp.Or(text.Detail, text.ErrorMessage, text.Message), hint)
}
