package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// newClient returns an HTTP client that reuses its connections.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 2 * requestsAtOnce, DisableCompression: true,
		ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10,
	}}
}

// ask sends one request. A status that is not among the wanted ones is an error.
func ask(ctx context.Context, c *http.Client, method, address string, body io.Reader, length int64, contentType string, want ...int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, body) //nolint:gosec // of a registry that it started itself
	if err != nil {
		return nil, err
	}
	req.ContentLength = length
	req.Header["Accept"] = acceptManifests
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.Do(req) //nolint:gosec // as above
	if err != nil {
		return nil, err
	}
	if slices.Contains(want, resp.StatusCode) {
		return resp, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1024))
	_ = resp.Body.Close()
	return nil, fmt.Errorf("%s %s: %s: %s", method, address, resp.Status, strings.TrimSpace(string(text)))
}

// drain discards the body of a response, so that its connection can be used again.
func drain(resp *http.Response) error {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	return resp.Body.Close()
}
