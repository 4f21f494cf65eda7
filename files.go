package gantry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/plan"
	"github.com/gantry-mirror/gantry/plan/build"
)

// downloads implements build.Downloads.
type downloads struct{ *mirror.Origin }

// LocalFile implements build.Downloads.
func (downloads) LocalFile(ctx context.Context, path string) (sha256 digest.Digest, size int64, mode fs.FileMode, err error) {
	f, info, err := regular.OpenPath(path)
	if err != nil {
		return "", 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info.Size() > fileartifact.MaxSize {
		return "", 0, 0, fmt.Errorf("it is larger than %d bytes", int64(fileartifact.MaxSize))
	}
	hash := digest.SHA256.Digester()
	size, err = io.Copy(hash.Hash(), cancelable{ctx: ctx, Reader: io.LimitReader(f, fileartifact.MaxSize)})
	return hash.Digest(), size, info.Mode(), err
}

// A cancelable reader ends with its context.
type cancelable struct {
	ctx context.Context //nolint:containedctx // of one call
	io.Reader
}

func (c cancelable) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.Reader.Read(p)
}

// rebuildFiles makes the artifacts of a plan's files again. Their content is read when it is copied.
func (s *Session) rebuildFiles(ctx context.Context, p *plan.Plan) error {
	for _, f := range p.Files {
		if err := build.RebuildFile(ctx, f, s.sources.cache); err != nil {
			return err
		}
	}
	return nil
}
