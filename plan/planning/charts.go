package planning

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/chart/renderer"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// addCharts adds what Helm charts are read and rendered with, if the configuration has any. Call done
// at the end.
func addCharts(s *workspace.Session, from *build.Sources, cfg *imageset.Helm) (done func(), err error) {
	if cfg.SelectsNothing() {
		return func() {}, nil
	}
	path, err := renderer.Find(s.Env.HelmRenderer)
	if err != nil {
		return nil, err
	}
	r := renderer.New(path, renderer.Options{})
	from.Renderer, from.Repositories = r, chartRepositories(s)
	return r.Close, nil
}

func chartRepositories(s *workspace.Session) *ChartRepositories {
	return &ChartRepositories{Client: s.Client, cache: s.Sources.Cache, Indexes: map[string]*chart.Index{}}
}

// ChartRepositories reads chart repositories. Archives whose digest an index has are kept in the cache.
type ChartRepositories struct {
	Client *remote.Client
	cache  *layout.Layout

	mu      sync.Mutex
	Indexes map[string]*chart.Index // by address
}

// Index implements build.ChartRepositories. An index is read once in a run.
func (r *ChartRepositories) Index(ctx context.Context, address string) (*chart.Index, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.Indexes[address]; i != nil {
		return i, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address is malformed")
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/")+"/index.yaml", ""
	text, err := r.Client.GetAuthenticated(ctx, u.String(), "", chart.MaxIndex)
	if err != nil {
		return nil, err
	}
	i, err := chart.ParseIndex(text)
	if err != nil {
		return nil, err
	}
	r.Indexes[address] = i
	return i, nil
}

// Archive implements build.ChartRepositories.
func (r *ChartRepositories) Archive(ctx context.Context, address, sha256 string) (*chart.Chart, error) {
	archive, err := r.archive(ctx, address, sha256)
	if err != nil {
		return nil, err
	}
	c, err := chart.Read(archive)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address is malformed")
	}
	u.Path, u.RawPath = u.Path+".prov", ""
	c.Provenance, err = r.Client.GetAuthenticated(ctx, u.String(), "", chart.MaxProvenance)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, remote.ErrUnauthorized) { // storage without the file may answer 403
		c.Provenance, err = nil, nil
	}
	return c, err
}

// archive reads an archive from the cache, if its digest is known, or else from its address.
func (r *ChartRepositories) archive(ctx context.Context, address, sha256 string) ([]byte, error) {
	d := digest.NewDigestFromEncoded(digest.SHA256, sha256)
	known := sha256 != "" && d.Validate() == nil
	if known {
		if size, ok := r.cache.Size(d); ok && size <= chart.MaxArchive {
			desc := ocispec.Descriptor{Digest: d, Size: size}
			if text, err := r.cache.Read(ctx, desc, chart.MaxArchive); err == nil {
				return text, nil
			} else if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			_ = r.cache.Remove(desc) // it is damaged, and read again below
		}
	}
	text, err := r.Client.GetAuthenticated(ctx, address, "", chart.MaxArchive)
	switch {
	case err != nil:
		return nil, err
	case !known:
		return text, nil
	case digest.FromBytes(text) != d:
		return nil, fmt.Errorf("the archive has the digest %s, but the index has %s", digest.FromBytes(text), d)
	}
	_, err = r.cache.Write(ctx, chart.ArchiveType, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	return text, err
}

// rebuildCharts makes the artifacts of a plan's charts again that are not in the cache.
func rebuildCharts(ctx context.Context, s *workspace.Session, p *plan.Plan) error {
	from := s.Sources.Plan()
	from.Repositories = chartRepositories(s)
	for _, c := range p.Charts {
		if !c.Built {
			continue
		}
		present, err := s.Cached(ctx, p, c.Digest, false)
		if err == nil && !present {
			s.Env.Noticef("reading chart %s again", c)
			err = build.RebuildChart(ctx, c, from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
