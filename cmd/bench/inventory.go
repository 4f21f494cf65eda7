package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
)

// requestsAtOnce is the number of concurrent requests of the floor and the checks.
const requestsAtOnce = 8

// An inventory lists all content of a workload. The floor copies what it lists, and the results of
// the tools are checked against it.
type inventory struct {
	Blobs     []*inventoryBlob // largest first
	Manifests []inventoryManifest
}

// An inventoryBlob is a blob and the repositories that contain it.
type inventoryBlob struct {
	Digest       digest.Digest
	Size         int64
	Repositories []string
	Offset       int64 // in the floor's archive
}

// An inventoryManifest is a manifest under one name in one repository.
type inventoryManifest struct {
	Repository string
	Name       string // the tag, or the digest for a child
	Digest     digest.Digest
	Type       string
	Raw        []byte
	Child      bool
	Kind       string // of the item it belongs to
}

// acceptManifests are the media types of a workload's manifests.
var acceptManifests = []string{
	"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json",
	ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex,
}

// readInventory reads the manifests of the items from a registry.
func readInventory(ctx context.Context, host string, items []item) (*inventory, error) {
	r := inventoryReader{client: newClient(), host: host, blobs: map[digest.Digest]*inventoryBlob{}, seen: map[string]bool{}}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(requestsAtOnce)
	for _, i := range items {
		g.Go(func() error {
			return r.manifest(ctx, inventoryManifest{Repository: i.repository, Name: i.tag, Digest: i.digest, Kind: i.kind})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, b := range r.blobs {
		slices.Sort(b.Repositories)
		r.Blobs = append(r.Blobs, b)
	}
	slices.SortFunc(r.Blobs, func(a, b *inventoryBlob) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Digest, b.Digest))
	})
	slices.SortFunc(r.Manifests, func(a, b inventoryManifest) int {
		return cmp.Or(cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Name, b.Name))
	})
	var offset int64
	for _, b := range r.Blobs {
		b.Offset = offset
		offset += b.Size
	}
	return &r.inventory, nil
}

type inventoryReader struct {
	inventory
	client *http.Client
	host   string

	mu    sync.Mutex
	blobs map[digest.Digest]*inventoryBlob
	seen  map[string]bool
}

func (r *inventoryReader) manifest(ctx context.Context, m inventoryManifest) error {
	r.mu.Lock()
	key := m.Repository + ":" + m.Name
	seen := r.seen[key]
	r.seen[key] = true
	r.mu.Unlock()
	if seen {
		return nil
	}
	address := fmt.Sprintf("http://%s/v2/%s/manifests/%s", r.host, m.Repository, m.Digest)
	resp, err := ask(ctx, r.client, http.MethodGet, address, nil, 0, "", http.StatusOK)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	m.Type = resp.Header.Get("Content-Type")
	if m.Raw, err = io.ReadAll(resp.Body); err != nil {
		return err
	}
	var parts struct {
		Config            *ocispec.Descriptor
		Layers, Manifests []ocispec.Descriptor
	}
	if err := json.Unmarshal(m.Raw, &parts); err != nil {
		return fmt.Errorf("reading %s: %w", address, err)
	}
	for _, child := range parts.Manifests {
		if err := r.manifest(ctx, inventoryManifest{Repository: m.Repository, Name: child.Digest.String(), Digest: child.Digest, Child: true, Kind: m.Kind}); err != nil {
			return err
		}
	}
	if parts.Config != nil {
		parts.Layers = append(parts.Layers, *parts.Config)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, desc := range parts.Layers {
		b := r.blobs[desc.Digest]
		if b == nil {
			b = &inventoryBlob{Digest: desc.Digest, Size: desc.Size}
			r.blobs[desc.Digest] = b
		}
		if !slices.Contains(b.Repositories, m.Repository) {
			b.Repositories = append(b.Repositories, m.Repository)
		}
	}
	r.Manifests = append(r.Manifests, m)
	return nil
}

// bytes returns the total size of the blobs and manifests, each counted once.
func (i *inventory) bytes() int64 {
	var n int64
	for _, b := range i.Blobs {
		n += b.Size
	}
	seen := map[digest.Digest]bool{}
	for _, m := range i.Manifests {
		if !seen[m.Digest] {
			seen[m.Digest] = true
			n += int64(len(m.Raw))
		}
	}
	return n
}

// digests returns the number of manifests, each counted once.
func (i *inventory) digests() int {
	seen := map[digest.Digest]bool{}
	for _, m := range i.Manifests {
		seen[m.Digest] = true
	}
	return len(seen)
}

func (i *inventory) write(file string) error {
	raw, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return os.WriteFile(file, raw, 0o644)
}

func openInventory(file string) (*inventory, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	i := &inventory{}
	return i, json.Unmarshal(raw, i)
}
