package mirror

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
)

// file opens the bytes of a file at an offset: at its address, or on this machine. They are compared with
// the digest of the plan.
func (o *Origin) file(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	if address, ok := plan.FileAddress(source); ok {
		return o.webFile(ctx, address, desc, offset)
	}
	path, ok := plan.FilePath(source)
	if !ok {
		return nil, fmt.Errorf("%s is not the source of a file", source)
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
	body, err := layout.Rest(ctx, f, desc, offset, path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return localFile{body}, nil
}

// A localFile is the content of a file on this machine.
type localFile struct{ io.ReadCloser }

// Read tells the user what to do if the content is not what the plan has.
func (l localFile) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if errors.As(err, new(*layout.CorruptError)) {
		err = fmt.Errorf("%w: the file was changed; make the plan again", err)
	}
	return n, err
}

// Verifies reports whether the content is compared with desc.
func (l localFile) Verifies(desc ocispec.Descriptor) bool { return layout.Verifies(l.ReadCloser, desc) }

// Hashed returns the hash of what was read.
func (l localFile) Hashed() (hash.Hash, int64) { return layout.Hashed(l.ReadCloser) }

// An otherContent is the error for a file that has another digest than the expected one.
type otherContent struct{ error }

// FileSize returns the size of the file at an address, whose content has a digest. If the server does
// not send it, the file is read into the cache, where it is copied from later. Nothing is stored of content
// that has another digest.
func (o *Origin) FileSize(ctx context.Context, address string, want digest.Digest) (int64, error) {
	if size, ok := o.cache.Size(want); ok {
		return size, nil
	}
	size, err := o.client.WebSize(ctx, address)
	if err != nil || size > 0 || size == 0 && want == digest.FromString("") {
		return size, err
	}
	body, err := o.client.WebBody(ctx, address)
	if err != nil {
		return 0, err
	}
	got, err := o.cache.Write(ctx, fileartifact.LayerType, func(w io.Writer) error {
		hash := digest.SHA256.Digester()
		n, err := io.Copy(io.MultiWriter(w, hash.Hash()), io.LimitReader(body, fileartifact.MaxSize+1))
		switch d := hash.Digest(); {
		case err != nil:
			return err
		case n > fileartifact.MaxSize:
			return fmt.Errorf("it is larger than %d bytes", int64(fileartifact.MaxSize))
		case d != want:
			return &otherContent{fmt.Errorf("the content of %s has the digest %s, and %s was expected", address, d, want)}
		}
		return nil
	})
	other := (*otherContent)(nil)
	switch closed := body.Close(); {
	case errors.As(err, &other):
		return 0, other.error
	case err != nil || closed != nil:
		return 0, fmt.Errorf("reading %s: %w", address, errors.Join(err, closed))
	}
	return got.Size, nil
}
