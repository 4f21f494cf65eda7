package provision

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// harborProjects is the path of Harbor's API for projects.
//
// Source: api/v2.0/swagger.yaml in https://github.com/goharbor/harbor. HEAD with project_name responds 200 if
// the project exists and 404 if not; POST responds 201, or 409 if it exists.
const harborProjects = "/api/v2.0/projects"

// A harborRequest is the body that creates a project.
type harborRequest struct {
	ProjectName string            `json:"project_name"`
	Metadata    map[string]string `json:"metadata"`
}

// harborProject returns the request for a private project.
func harborProject(name string) harborRequest {
	return harborRequest{name, map[string]string{"public": "false"}}
}

func (r *Registry) harborCreator() (func(ctx context.Context, name string) (bool, error), error) {
	cred := r.o.Credential
	if cred.Username == "" {
		return nil, advice.New(advice.Unauthorized, "run gantry registry login "+r.o.Host+" as a user who may create projects, or set Options.Destination.AuthFile", "no user and password for %s were found", r.o.Host)
	}
	authorization := "Basic " + base64.StdEncoding.EncodeToString([]byte(cred.Username+":"+cred.Password))
	return func(ctx context.Context, name string) (bool, error) {
		op := "looking for the project " + name
		answer, err := r.call(ctx, op, http.MethodHead, r.o.Base+harborProjects+"?project_name="+url.QueryEscape(name), authorization, nil)
		if err != nil {
			return false, err
		}
		switch answer.Status {
		case http.StatusOK:
			return false, nil
		case http.StatusNotFound: // created below
		default:
			return false, refused(op, r.o.Host, answer, "", "", "use the credentials of a user who may create projects")
		}
		op = "creating the project " + name
		answer, err = r.call(ctx, op, http.MethodPost, r.o.Base+harborProjects, authorization, harborProject(name))
		if err != nil {
			return false, err
		}
		switch answer.Status {
		case http.StatusCreated:
			return true, nil
		case http.StatusConflict: // another run created it
			return false, nil
		}
		var text struct {
			Errors []struct{ Code, Message string }
		}
		code, message := "", ""
		if json.Unmarshal(answer.Body, &text) == nil && len(text.Errors) > 0 {
			code, message = text.Errors[0].Code, text.Errors[0].Message
		}
		return false, refused(op, r.o.Host, answer, code, message, "use the credentials of a user who may create projects, or have an administrator create it")
	}, nil
}
