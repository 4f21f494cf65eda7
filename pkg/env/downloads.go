package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
)

// Downloads implements build.Downloads.
type Downloads struct{ *mirror.Origin }

// LocalFile implements build.Downloads.
func (Downloads) LocalFile(ctx context.Context, path string) (sha256 digest.Digest, size int64, mode fs.FileMode, err error) {
	f, info, err := regular.OpenPath(path)
	if err != nil {
		return "", 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info.Size() > fileartifact.MaxSize {
		return "", 0, 0, fmt.Errorf("it is larger than %d bytes", int64(fileartifact.MaxSize))
	}
	hash := digest.SHA256.Digester()
	size, err = io.Copy(hash.Hash(), Cancelable{Ctx: ctx, Reader: io.LimitReader(f, fileartifact.MaxSize)})
	return hash.Digest(), size, info.Mode(), err
}

// A Cancelable reader ends with its context.
type Cancelable struct {
	Ctx context.Context //nolint:containedctx // of one call
	io.Reader
}

func (c Cancelable) Read(p []byte) (int, error) {
	if c.Ctx.Err() != nil {
		return 0, context.Cause(c.Ctx)
	}
	return c.Reader.Read(p)
}
