package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"
)

// A floorRun copies the content of an inventory without checking what already exists: one GET per
// blob, one POST and PUT, one POST for each further repository, one PUT per manifest. It is not a
// usable tool, because all content must be known in advance.
type floorRun struct {
	client *http.Client
	plan   *inventory
}

// runFloor runs the command in the arguments:
//
//	m2m INVENTORY SOURCE DESTINATION
//	m2d INVENTORY SOURCE FILE
//	d2m INVENTORY FILE DESTINATION
func runFloor(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("the floor needs an operation, an inventory, a source and a destination, not %q", args)
	}
	plan, err := openInventory(args[1])
	if err != nil {
		return err
	}
	f := floorRun{newClient(), plan}
	switch from, to := args[2], args[3]; args[0] {
	case "m2m":
		return f.copy(ctx, from, to)
	case "m2d":
		return f.store(ctx, from, to)
	case "d2m":
		return f.load(ctx, from, to)
	}
	return fmt.Errorf("the floor has no operation %q", args[0])
}

// each calls do for every blob, the largest first.
func (f floorRun) each(ctx context.Context, do func(context.Context, *inventoryBlob) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(requestsAtOnce)
	for _, b := range f.plan.Blobs {
		g.Go(func() error { return do(ctx, b) })
	}
	return g.Wait()
}

func (f floorRun) copy(ctx context.Context, from, to string) error {
	err := f.each(ctx, func(ctx context.Context, b *inventoryBlob) error {
		body, err := f.get(ctx, from, b)
		if err != nil {
			return err
		}
		defer body.Close()
		return f.push(ctx, to, b, body)
	})
	if err != nil {
		return err
	}
	return f.manifests(ctx, to)
}

// store writes the blobs into one file, at the offsets in the inventory.
func (f floorRun) store(ctx context.Context, from, file string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	err = f.each(ctx, func(ctx context.Context, b *inventoryBlob) error {
		body, err := f.get(ctx, from, b)
		if err != nil {
			return err
		}
		defer body.Close()
		h := sha256.New()
		to := io.MultiWriter(h, io.NewOffsetWriter(out, b.Offset))
		// io.Copy would use a buffer of only 32 KiB.
		if _, err := io.CopyBuffer(to, struct{ io.Reader }{body}, make([]byte, min(256<<10, max(1, b.Size)))); err != nil {
			return err
		}
		if got := digest.NewDigest(digest.SHA256, h); got != b.Digest {
			return fmt.Errorf("blob %s is %s", b.Digest, got)
		}
		return nil
	})
	return errors.Join(err, out.Close())
}

func (f floorRun) load(ctx context.Context, file, to string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	err = f.each(ctx, func(ctx context.Context, b *inventoryBlob) error {
		return f.push(ctx, to, b, io.NewSectionReader(in, b.Offset, b.Size))
	})
	if err != nil {
		return err
	}
	return f.manifests(ctx, to)
}

func (f floorRun) get(ctx context.Context, host string, b *inventoryBlob) (io.ReadCloser, error) {
	resp, err := ask(ctx, f.client, http.MethodGet, fmt.Sprintf("http://%s/v2/%s/blobs/%s", host, b.Repositories[0], b.Digest), nil, 0, "", http.StatusOK)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

func (f floorRun) push(ctx context.Context, host string, b *inventoryBlob, body io.Reader) error {
	base := "http://" + host + "/v2/"
	resp, err := ask(ctx, f.client, http.MethodPost, base+b.Repositories[0]+"/blobs/uploads/", nil, 0, "", http.StatusAccepted)
	if err != nil {
		return err
	}
	location, err := resp.Location()
	if err := errors.Join(err, drain(resp)); err != nil {
		return err
	}
	query := location.Query()
	query.Set("digest", b.Digest.String())
	location.RawQuery = query.Encode()
	resp, err = ask(ctx, f.client, http.MethodPut, location.String(), body, b.Size, "application/octet-stream", http.StatusCreated)
	if err != nil {
		return err
	}
	if err := drain(resp); err != nil {
		return err
	}
	mount := "/blobs/uploads/?" + url.Values{"mount": {b.Digest.String()}, "from": b.Repositories[:1]}.Encode()
	for _, r := range b.Repositories[1:] {
		resp, err := ask(ctx, f.client, http.MethodPost, base+r+mount, nil, 0, "", http.StatusCreated)
		if err != nil {
			return err
		}
		if err := drain(resp); err != nil {
			return err
		}
	}
	return nil
}

// manifests pushes children first, because a registry accepts an index only if its children exist.
func (f floorRun) manifests(ctx context.Context, host string) error {
	for _, child := range []bool{true, false} {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(requestsAtOnce)
		for _, m := range f.plan.Manifests {
			if m.Child != child {
				continue
			}
			g.Go(func() error {
				address := fmt.Sprintf("http://%s/v2/%s/manifests/%s", host, m.Repository, m.Name)
				resp, err := ask(ctx, f.client, http.MethodPut, address, bytes.NewReader(m.Raw), int64(len(m.Raw)), m.Type, http.StatusCreated)
				if err != nil {
					return err
				}
				return drain(resp)
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}
