package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

const (
	maxTags = 16 << 20 // bytes of one page
	tagPage = 1000     // tags per request

	// A registry may invent pages. A repository has at most maxAllTags tags, and after somePages
	// requests, at least fewTags for each request: the smallest pages of registries have 50.
	maxAllTags  = 1_000_000
	maxAllNames = 256 << 20 // bytes of memory; a tag has at most 128 letters
	somePages   = 500
	fewTags     = 10
)

// Tags returns the tags of repo in the registry's order, at most limit of them; 0 means all. If
// there is no such repository, the error wraps ErrNotFound. A list that does not end is an error.
func (c *Client) Tags(ctx context.Context, repo reference.Reference, limit int) ([]string, error) {
	var tags []string
	err := c.read(ctx, repo.Repository(), false, func(ctx context.Context, at hostRef) error {
		size := tagPage
		if limit > 0 {
			size = min(size, limit)
		}
		var err error
		tags, err = c.pages(ctx, at, &request{
			op: "listing tags", kind: "tags", method: http.MethodGet, repo: at.ref.Path,
			scopes: []string{pull(at.ref.Path)}, path: "/v2/" + at.ref.Path + "/tags/list?n=" + strconv.Itoa(size),
		}, limit)
		return err
	})
	return tags, err
}

// pages returns the list that begins with the request, at most limit names; 0 means all.
func (c *Client) pages(ctx context.Context, at hostRef, r *request, limit int) (names []string, err error) {
	_, err = c.eachPage(ctx, at, r, func(page []string) bool {
		names = append(names, page...)
		return limit == 0 || len(names) < limit
	})
	if err != nil {
		return nil, err
	}
	if limit > 0 && len(names) > limit {
		names = names[:limit]
	}
	return names, nil
}

// eachPage calls see with each page of the list that begins with the request, until it returns false.
// all reports whether there is no further page. A list that does not end is an error.
func (c *Client) eachPage(ctx context.Context, at hostRef, r *request, see func(page []string) (more bool)) (all bool, err error) {
	visited := map[string]bool{}
	names, size := 0, 0
	for {
		page, following, err := c.tags(ctx, at, r)
		if err != nil {
			return false, err
		}
		names += len(page)
		for _, name := range page {
			size += len(name) + 16 // with its header
		}
		visited[r.url] = true
		pages, large := len(visited), names > maxAllTags || size > maxAllNames
		if !large && (!see(page) || following == "") {
			return following == "", nil
		}
		if large || len(page) == 0 || visited[following] || pages >= somePages && names < fewTags*pages {
			e := at.h.failure(r, fmt.Errorf("the registry's list of %[1]s does not end after %[2]d %[1]s on %[3]d pages", r.kind, names, pages))
			e.Hint = "check the registry, or the proxy in front of it: it seems to invent pages"
			return false, e
		}
		r.url = following
	}
}

// AllRepositories returns the paths of all repositories of a registry, as far as it lists them for
// these credentials, on as many pages as it needs. Many registries list them only for administrators,
// or not at all: then it is an error. Repositories makes one request at most.
func (c *Client) AllRepositories(ctx context.Context, registry string) (paths []string, err error) {
	err = c.read(ctx, reference.Reference{Host: registry, Path: "catalog"}, false, func(ctx context.Context, at hostRef) error {
		paths, err = c.pages(ctx, at, &request{
			op: "listing repositories", kind: "repositories", method: http.MethodGet,
			scopes: []string{catalogScope}, path: "/v2/_catalog?n=" + strconv.Itoa(tagPage),
		}, 0)
		return err
	})
	return paths, err
}

// TagPages calls see with the tags of repo that follow after in lexical order, or all tags if after is
// "", page by page, until it returns false. A registry that ignores after returns other tags, too. all reports whether the list
// came to its end. If a mirror of the source fails, see is called again with pages of the next one.
func (c *Client) TagPages(ctx context.Context, repo reference.Reference, after string, see func(page []string) (more bool)) (all bool, err error) {
	query := url.Values{"n": {strconv.Itoa(tagPage)}}
	if after != "" {
		query.Set("last", after)
	}
	err = c.read(ctx, repo.Repository(), false, func(ctx context.Context, at hostRef) error {
		all, err = c.eachPage(ctx, at, &request{
			op: "listing tags", kind: "tags", method: http.MethodGet, repo: at.ref.Path,
			scopes: []string{pull(at.ref.Path)}, path: "/v2/" + at.ref.Path + "/tags/list?" + query.Encode(),
		}, see)
		return err
	})
	return all, err
}

// tags reads one page and the URL of the next.
func (c *Client) tags(ctx context.Context, at hostRef, r *request) (page []string, next string, err error) {
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
		var list struct {
			Tags         []string `json:"tags"`
			Repositories []string `json:"repositories"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return at.h.unexpected(r, raw, "a JSON list of "+r.kind)
		}
		page = slices.Concat(list.Tags, list.Repositories) // a response has one of them
		next, err = nextPage(at.h, r, resp)
		if err == nil {
			next = ownPage(r.url, next, page)
		}
		return err
	})
	return page, next, err
}

// nextPage parses Link: <…>; rel="next" (RFC 8288). Pages must be on the same registry.
func nextPage(h *host, r *request, resp *http.Response) (string, error) {
	link, rest, ok := strings.Cut(resp.Header.Get("Link"), ">")
	link, open := strings.CutPrefix(strings.TrimSpace(link), "<")
	if !ok || !open || !strings.Contains(rest, "next") {
		return "", nil
	}
	u, err := h.resolveURL(r.url, link)
	if err != nil {
		return "", h.refused(r, "the next page", err)
	}
	if base, err := url.Parse(h.base()); err != nil || !sameHost(base, u) {
		return "", h.refused(r, "the next page", fmt.Errorf("%s is another host: %w", u.Host, ErrRefused))
	}
	return u.String(), nil
}

// ownPage returns the URL of the page that follows a page of tags if the registry names another path than the one that
// was requested: Nexus and Artifactory name paths at which they serve nothing. Otherwise, it returns next.
func ownPage(current, next string, page []string) string {
	at, err := url.Parse(current)
	to, toErr := url.Parse(next)
	if err != nil || toErr != nil || next == "" || len(page) == 0 || at.Path == to.Path {
		return next
	}
	query := at.Query()
	query.Set("last", page[len(page)-1])
	at.RawQuery = query.Encode()
	return at.String()
}
