package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// catalogScope is what a token has to allow for a list of repositories.
const catalogScope = "registry:catalog:*"

// Repositories returns the paths of all repositories at the host of repo, with the credentials for
// repo. It makes one request and does not repeat it. If the registry has limit repositories or more,
// or does not list them, that is an error. Registries may omit repositories that these credentials
// must not read.
func (c *Client) Repositories(ctx context.Context, repo reference.Reference, limit int) ([]string, error) {
	at, err := c.destination(repo.Repository())
	if err != nil {
		return nil, err
	}
	r := &request{
		op: "listing repositories", kind: "catalog", method: http.MethodGet, repo: at.ref.Path,
		scopes: []string{catalogScope}, path: "/v2/_catalog?n=" + strconv.Itoa(limit),
	}
	resp, err := at.h.do(ctx, r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, at.h.refusal(r, resp)
	}
	next := resp.Header.Get("Link")
	raw, err := readAll(resp, maxTags)
	if err != nil {
		return nil, at.h.broken(r, err)
	}
	var list struct {
		Repositories *[]string `json:"repositories"`
	}
	if json.Unmarshal(raw, &list) != nil || list.Repositories == nil {
		return nil, at.h.unexpected(r, raw, "a JSON list of repositories")
	}
	if n := len(*list.Repositories); n >= limit || next != "" {
		return nil, at.h.failure(r, fmt.Errorf("the registry has more than the %d repositories that it listed", n))
	}
	return *list.Repositories, nil
}
