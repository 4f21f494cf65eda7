package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

const (
	maxTags = 16 << 20 // bytes of one page
	tagPage = 1000     // tags asked for at a time
)

// Tags lists the tags of repo in the registry's order, at most limit of them; 0
// means all. Where there is no such repository the error wraps ErrNotFound.
func (c *Client) Tags(ctx context.Context, repo reference.Reference, limit int) ([]string, error) {
	var tags []string
	err := c.read(ctx, repo.Repository(), false, func(ctx context.Context, at spot) error {
		tags = nil
		size := tagPage
		if limit > 0 {
			size = min(size, limit)
		}
		next := at.ref.Path + "/tags/list?n=" + strconv.Itoa(size)
		r := &request{
			op: "listing tags", kind: "tags", method: http.MethodGet, repo: at.ref.Path,
			scopes: []string{pull(at.ref.Path)}, path: "/v2/" + next,
		}
		been := map[string]bool{}
		for {
			page, following, err := c.tags(ctx, at, r)
			if err != nil {
				return err
			}
			tags = append(tags, page...)
			if limit > 0 && len(tags) >= limit {
				tags = tags[:limit]
				return nil
			}
			if following == "" {
				return nil
			}
			if been[r.url] = true; len(page) == 0 || been[following] {
				return at.h.failure(r, errors.New("the registry's pages lead nowhere"))
			}
			r.url = following
		}
	})
	return tags, err
}

// tags reads one page and the address of the next.
func (c *Client) tags(ctx context.Context, at spot, r *request) (page []string, next string, err error) {
	err = c.retry(ctx, func(ctx context.Context) error {
		resp, err := at.h.do(ctx, r)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return at.h.refusal(r, resp)
		}
		raw, err := readAll(resp, maxTags)
		if err != nil {
			return at.h.broken(r, err)
		}
		var answer struct {
			Tags []string `json:"tags"`
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return at.h.failure(r, errors.New("the answer is not the JSON of a list of tags"))
		}
		page = answer.Tags
		next, err = nextPage(at.h, r, resp)
		return err
	})
	return page, next, err
}

// nextPage reads Link: <…>; rel="next" (RFC 8288). Pages stay at the registry.
func nextPage(h *host, r *request, resp *http.Response) (string, error) {
	link, rest, ok := strings.Cut(resp.Header.Get("Link"), ">")
	link, open := strings.CutPrefix(strings.TrimSpace(link), "<")
	if !ok || !open || !strings.Contains(rest, "next") {
		return "", nil
	}
	u, err := h.target(r.url, link)
	if err != nil {
		return "", h.refused(r, "the next page", err)
	}
	if base, err := url.Parse(h.base()); err != nil || !sameHost(base, u) {
		return "", h.refused(r, "the next page", fmt.Errorf("%s is another host: %w", u.Host, ErrRefused))
	}
	return u.String(), nil
}
