package mirror

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A contentReader is a Registry whose content can be read and compared with its digest. If the
// content differs, the error matches remote.ErrMismatch.
type contentReader interface {
	ReadBlob(ctx context.Context, repository string, desc ocispec.Descriptor) error
	ReadManifest(ctx context.Context, repository string, desc ocispec.Descriptor) error
}

// A blobCheck is what is wrong with a blob or manifest of a repository: "is missing", "is damaged:
// ...", or "" for nothing. It is locked while the registry is asked.
type blobCheck struct {
	sync.Mutex
	done    bool
	problem string
}

func (r *run) blobCheckOf(repository string, d digest.Digest) *blobCheck {
	slot, _ := r.blobChecks.LoadOrStore(pushKey{repository: repository, digest: d.String()}, &blobCheck{})
	return slot.(*blobCheck)
}

// checkBlob returns the problem of a blob in a repository, "" if there is none. It requests the blob
// once.
func (r *run) checkBlob(ctx context.Context, repository string, b *blob) (problem string, err error) {
	return r.checkOnce(repository, b.desc.Digest, func() (string, error) { return r.blobProblem(ctx, repository, b) })
}

// blobProblem requests a blob from a repository, or reads it.
func (r *run) blobProblem(ctx context.Context, repository string, b *blob) (string, error) {
	if r.ReadBlobs {
		return problemOf(r.reader.ReadBlob(ctx, repository, b.descriptor()))
	}
	has, err := r.registry.HasBlob(ctx, repository, b.descriptor())
	if err == nil && !has {
		return blobMissing, nil
	}
	return problemOf(err)
}

// checkOnce returns the result of check, which it calls once for each content of a repository.
func (r *run) checkOnce(repository string, d digest.Digest, check func() (string, error)) (problem string, err error) {
	c := r.blobCheckOf(repository, d)
	c.Lock()
	defer c.Unlock()
	if c.done {
		return c.problem, nil
	}
	if problem, err = check(); err != nil {
		return "", explain(err, "checking "+d.String())
	}
	c.done, c.problem = true, problem
	if problem != "" {
		r.damaged.Store(d, struct{}{})
	}
	return problem, nil
}

const blobMissing = "is missing"

// problemOf returns the problem that an error shows: content that is missing, or not what its digest
// says. Other errors are returned.
func problemOf(err error) (problem string, other error) {
	switch {
	case errors.Is(err, remote.ErrMismatch):
		if detail := (*remote.Error)(nil); errors.As(err, &detail) && detail.Err != nil {
			err = detail.Err
		}
		return fmt.Sprintf("is damaged: %v", err), nil
	case errors.Is(err, remote.ErrNotFound):
		return blobMissing, nil
	}
	return "", err
}

// A lostBlob is a blob that a registry does not have although a manifest names it, or that is
// damaged.
type lostBlob struct {
	digest  digest.Digest
	problem string
}

// lostBlobs requests every blob of the image, once per repository, and returns those that are
// missing or damaged although manifests name them: storage may lose what a registry still lists.
func (r *run) lostBlobs(ctx context.Context, img *image) ([]lostBlob, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	problems := make([]string, len(img.blobs))
	for i, b := range img.blobs {
		g.Go(func() (err error) {
			problems[i], err = r.checkBlob(ctx, img.repository, b)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var lost []lostBlob
	for i, b := range img.blobs {
		if problems[i] != "" {
			lost = append(lost, lostBlob{b.desc.Digest, problems[i]})
		}
	}
	return lost, nil
}

// manifestProblem reads the manifests of an image and returns what is wrong with one of them, "" if
// nothing is.
func (r *run) manifestProblem(ctx context.Context, img *image) (string, error) {
	for _, m := range img.manifests {
		problem, err := r.checkOnce(img.repository, m.Digest, func() (string, error) {
			return problemOf(r.reader.ReadManifest(ctx, img.repository, manifestDescriptor(m)))
		})
		if problem != "" || err != nil {
			return fmt.Sprintf("its manifest %s %s", m.Digest, problem), err
		}
	}
	return "", nil
}

// contentProblem checks the blobs of an image whose manifests are present, and the manifests if they
// are to be read. It returns what is wrong, "" if nothing is, and the blobs that are.
func (r *run) contentProblem(ctx context.Context, img *image) (problem string, blobs []digest.Digest, err error) {
	if r.ReadBlobs {
		if problem, err = r.manifestProblem(ctx, img); problem != "" || err != nil {
			return problem, nil, err
		}
	}
	lost, err := r.lostBlobs(ctx, img)
	if err != nil || len(lost) == 0 {
		return "", nil, err
	}
	blobs = elements.Map(lost, func(l lostBlob) digest.Digest { return l.digest })
	problem = fmt.Sprintf("its blob %s %s", lost[0].digest, lost[0].problem)
	if more := len(lost) - 1; more == 1 {
		problem += "; 1 more is missing or damaged"
	} else if more > 1 {
		problem += fmt.Sprintf("; %d more are missing or damaged", more)
	}
	return problem, blobs, nil
}
