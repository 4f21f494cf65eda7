package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/plan"
)

// file opens the bytes of a file at an offset: at its address, or on this machine. They are compared with
// the digest of the plan. Content that was made for the plan is only in the cache.
func (o *Origin) file(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	if address, ok := plan.FileAddress(source); ok {
		return o.client.WebFile(ctx, address, desc, offset)
	}
	path, ok := plan.FilePath(source)
	if !ok {
		return nil, fmt.Errorf("blob %s of %s is not in the cache: make the plan again", desc.Digest, source)
	}
	f, info, err := regular.OpenPath(path)
	if err != nil {
		return nil, err
	}
	if info.Size() != desc.Size {
		return nil, errors.Join(fmt.Errorf("%s has %d bytes, and the plan has %d: the file was changed; make the plan again", path, info.Size(), desc.Size), f.Close())
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return layout.Rest(ctx, f, desc, offset, path)
}

// FileSize returns the size of the file at an address, whose content has a digest. If the server does
// not send it, the file is read into the cache, where it is copied from later.
func (o *Origin) FileSize(ctx context.Context, address string, want digest.Digest) (int64, error) {
	if size, ok := o.cache.Size(want); ok {
		return size, nil
	}
	size, err := o.client.WebSize(ctx, address)
	if err != nil || size >= 0 {
		return size, err
	}
	body, err := o.client.WebBody(ctx, address)
	if err != nil {
		return 0, err
	}
	got, err := o.cache.Write(ctx, fileartifact.LayerType, func(w io.Writer) error {
		n, err := io.Copy(w, io.LimitReader(body, fileartifact.MaxSize+1))
		if err == nil && n > fileartifact.MaxSize {
			err = fmt.Errorf("it is larger than %d bytes", int64(fileartifact.MaxSize))
		}
		return err
	})
	if err := errors.Join(err, body.Close()); err != nil {
		return 0, fmt.Errorf("reading %s: %w", address, err)
	}
	if got.Digest != want {
		err := fmt.Errorf("the content of %s has the digest %s, and %s was expected", address, got.Digest, want)
		if removed := o.cache.Remove(got); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			return 0, errors.Join(err, removed)
		}
		return 0, err
	}
	return got.Size, nil
}
