package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"
)

// missing counts the manifests and blobs of an inventory that a registry does not have, and returns
// one as an example. place maps a repository of the source to the one at the destination. An
// attached signature is looked up by its tag, because tools may rewrite its manifest.
func missing(ctx context.Context, host string, i *inventory, place func(string) string) (n int, example string, err error) {
	client := newClient()
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(requestsAtOnce)
	look := func(path string) {
		g.Go(func() error {
			resp, err := ask(ctx, client, http.MethodHead, "http://"+host+"/v2/"+path, nil, 0, "", http.StatusOK, http.StatusNotFound)
			if err != nil {
				return err
			}
			if resp.StatusCode == http.StatusNotFound {
				mu.Lock()
				defer mu.Unlock()
				n++
				example = path
			}
			return drain(resp)
		})
	}
	for _, m := range i.Manifests {
		name := m.Digest.String()
		if m.Kind == signatureKind {
			name = m.Name
		}
		look(place(m.Repository) + "/manifests/" + name)
	}
	for _, b := range i.Blobs {
		for _, r := range b.Repositories {
			look(place(r) + "/blobs/" + b.Digest.String())
		}
	}
	err = g.Wait()
	return n, example, err
}

// missingInLayout is like missing, for a folder that is an OCI image layout.
func missingInLayout(dir string, i *inventory) (n int, example string) {
	look := func(encoded string, size int64) {
		file := filepath.Join("blobs", "sha256", encoded)
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() != size {
			n++
			example = file
		}
	}
	for _, m := range i.Manifests {
		look(m.Digest.Encoded(), int64(len(m.Raw)))
	}
	for _, b := range i.Blobs {
		look(b.Digest.Encoded(), b.Size)
	}
	return n, example
}

// lack returns a sentence about the result of missing, or "" if nothing is missing.
func lack(n int, example string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d manifests and blobs are missing, such as %s", n, example)
}
