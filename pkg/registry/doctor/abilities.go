package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

const (
	// probeType is the artifact type of what is pushed.
	probeType = "application/vnd.gantry.probe.v1"
	// nestedPath is below the repository that is probed. Operator catalogs and releases need two to four
	// path components below the prefix.
	nestedPath = "a/b/c/d"
	// largeManifest is how many bytes a manifest has to be allowed to have, by the distribution
	// specification.
	largeManifest = 4 << 20
	dockerImage   = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList    = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerConfig  = "application/vnd.docker.container.image.v1+json"
)

// Abilities pushes small artifacts to the repository at, and to one below it, to find out what the
// registry accepts. What it pushed is deleted again if the registry deletes. fatal is the error of the
// first push; nothing else is tried after it.
func Abilities(ctx context.Context, c *remote.Client, at reference.Reference) (all []Finding, fatal error) {
	p := &probe{client: c, at: at.Repository()}
	defer func() { all = p.found }()
	if fatal = p.pushBlob(ctx); fatal != nil {
		return nil, fatal
	}
	for _, look := range []func(context.Context) error{p.mediaTypes, p.tags, p.nested, p.sparse, p.referrers, p.large, p.parts, p.verifies, p.list, p.deletion} {
		if err := look(ctx); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		} else if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// A probe is one examination of a registry.
type probe struct {
	client *remote.Client
	at     reference.Reference
	found  []Finding
	config ocispec.Descriptor
	image  ocispec.Descriptor    // of the artifact that was pushed
	pushed []reference.Reference // manifests to delete
}

func (p *probe) add(name string, state State, text, remedy string) {
	p.found = append(p.found, Finding{Area: "abilities", Name: name, State: state, Text: text, Remedy: remedy})
}

// refused adds a finding about a push that failed. Errors that are not about the content end the probe.
func (p *probe) refused(err error, name string, state State, text, remedy string) error {
	if errors.Is(err, remote.ErrUnreachable) || errors.Is(err, remote.ErrUntrusted) {
		return err
	}
	p.add(name, state, fmt.Sprintf("%s: %v", text, err), remedy)
	return nil
}

// open returns the one blob of all artifacts.
func open(_ context.Context, offset int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("{}"[offset:])), nil
}

func (p *probe) pushBlob(ctx context.Context) error {
	p.config = ocispec.Descriptor{MediaType: ocispec.MediaTypeEmptyJSON, Digest: digest.FromString("{}"), Size: 2}
	if _, err := p.client.PushBlob(ctx, p.at, p.config, nil, open); err != nil {
		return err
	}
	p.add("push", OK, "a blob was pushed to "+p.at.Name(), "")
	return nil
}

// push pushes a manifest by its digest, and remembers it for deletion.
func (p *probe) push(ctx context.Context, at reference.Reference, mediaType string, manifest any) (ocispec.Descriptor, error) {
	raw, err := json.Marshal(manifest)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	desc := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	ref := at.Repository().WithDigest(desc.Digest)
	if err := p.client.PushManifest(ctx, ref, mediaType, raw); err != nil {
		return desc, err
	}
	p.pushed = append(p.pushed, ref)
	return desc, nil
}

// artifact returns a manifest that only its note distinguishes from others.
func (p *probe) artifact(note string) ocispec.Manifest {
	return ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: probeType,
		Config: p.config, Layers: []ocispec.Descriptor{p.config}, Annotations: map[string]string{"org.opencontainers.image.title": "gantry probe " + note},
	}
}

func (p *probe) mediaTypes(ctx context.Context) (err error) {
	if p.image, err = p.push(ctx, p.at, ocispec.MediaTypeImageManifest, p.artifact("image")); err == nil {
		p.add("OCI media types", OK, "manifests and artifacts of OCI are accepted", "")
		return nil
	}
	if err := p.refused(err, "OCI media types", Problem, "an OCI artifact is refused", "use a version of the registry that accepts OCI manifests with any config and artifactType, or mirror with Options.DestFormat docker, which leaves out charts, files and signatures"); err != nil {
		return err
	}
	docker := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: dockerImage, Config: p.config, Layers: []ocispec.Descriptor{p.config}}
	docker.Config.MediaType, docker.Layers[0].MediaType = dockerConfig, "application/vnd.docker.image.rootfs.diff.tar.gzip"
	p.image, err = p.push(ctx, p.at, dockerImage, docker)
	return err
}

func (p *probe) tags(ctx context.Context) error {
	_, ok, err := p.client.ManifestExists(ctx, p.at.WithDigest(p.image.Digest))
	switch {
	case err != nil:
		return err
	case !ok:
		p.add("read back", Problem, "the registry accepted a manifest and does not have it", "check its storage, and whether a proxy or cache answers in its place")
	default:
		p.add("read back", OK, "what was pushed is there", "")
	}
	return nil
}

func (p *probe) nested(ctx context.Context) error {
	below := p.at.Repository()
	below.Path += "/" + nestedPath
	const remedy = "set Options.MaxNestedPaths to the number of path components that the registry allows"
	mounted, err := p.client.PushBlob(ctx, below, p.config, []string{p.at.Path}, open)
	if err == nil {
		_, err = p.push(ctx, below, p.image.MediaType, p.nestedManifest())
	}
	if err != nil {
		return p.refused(err, "nested paths", Warning, "a repository with more path components is refused", remedy)
	}
	p.add("nested paths", OK, fmt.Sprintf("%d path components are accepted", strings.Count(below.Path, "/")+1), "")
	if mounted {
		p.add("mount", OK, "blobs are mounted from other repositories", "")
	} else {
		p.add("mount", Warning, "blobs that several repositories share are sent to each", "")
	}
	return nil
}

func (p *probe) nestedManifest() any {
	if p.image.MediaType == ocispec.MediaTypeImageManifest {
		return p.artifact("nested")
	}
	m := p.artifact("nested")
	m.MediaType, m.ArtifactType, m.Annotations = dockerImage, "", nil
	m.Config.MediaType = dockerConfig
	return m
}

func (p *probe) sparse(ctx context.Context) error {
	absent := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString("gantry probe absent"), Size: 100, Platform: &ocispec.Platform{OS: "linux", Architecture: "s390x"}}
	have := p.image
	have.Platform = &ocispec.Platform{OS: "linux", Architecture: "amd64"}
	indexType := ocispec.MediaTypeImageIndex
	if have.MediaType == dockerImage {
		indexType, absent.MediaType = dockerList, dockerImage
	}
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: indexType, Manifests: []ocispec.Descriptor{have, absent}}
	if _, err := p.push(ctx, p.at, indexType, index); err != nil {
		return p.refused(err, "sparse indexes", Warning, "an index without one of its platforms is refused", "mirror all platforms, set platformsMode: rewrite, or allow sparse indexes in the registry")
	}
	p.add("sparse indexes", OK, "indexes without some of their platforms are accepted", "")
	return nil
}

func (p *probe) referrers(ctx context.Context) error {
	m := p.artifact("referrer")
	m.Subject = &p.image
	desc, err := p.push(ctx, p.at, ocispec.MediaTypeImageManifest, m)
	if err != nil {
		return p.refused(err, "referrers", Warning, "an artifact with a subject is refused, so that signatures of this kind cannot be mirrored", "set mirror.signatures: remove")
	}
	list, err := p.client.ListedReferrers(ctx, p.at.WithDigest(p.image.Digest))
	if err != nil {
		return p.refused(err, "referrers", Warning, "the list of referrers cannot be read", "")
	}
	_, api := p.client.Referrers(ctx, p.at.WithDigest(p.image.Digest))
	found := false
	for _, d := range list {
		found = found || d.Digest == desc.Digest
	}
	switch {
	case !found:
		p.add("referrers", Warning, "the registry accepted a referrer and does not list it", "set mirror.signatures: remove if runs report it")
	case errors.Is(api, remote.ErrNoReferrersAPI):
		p.add("referrers", OK, "no referrers API; Gantry lists referrers under a tag, as the specification says", "")
		if tag, ok, err := p.client.ManifestExists(ctx, p.at.WithTag(remote.ReferrersTag(p.image.Digest))); err == nil && ok {
			p.pushed = append(p.pushed, p.at.WithDigest(tag.Digest))
		}
	default:
		p.add("referrers", OK, "the registry has the referrers API", "")
	}
	return nil
}

func (p *probe) large(ctx context.Context) error {
	m := p.artifact("large")
	m.Annotations["com.example.padding"] = strings.Repeat("x", largeManifest-1024)
	if p.image.MediaType != ocispec.MediaTypeImageManifest {
		return nil
	}
	if _, err := p.push(ctx, p.at, ocispec.MediaTypeImageManifest, m); err != nil {
		return p.refused(err, "large manifests", Warning, "a manifest of 4 MiB is refused, which the specification asks registries to accept", "images with many layers or platforms may fail; check limits of a proxy in between")
	}
	p.add("large manifests", OK, "a manifest of 4 MiB is accepted", "")
	return nil
}

func (p *probe) parts(ctx context.Context) error {
	switch ok, err := p.client.UploadsInParts(ctx, p.at); {
	case err != nil:
		return p.refused(err, "uploads in parts", Warning, "not found out", "")
	case !ok:
		p.add("uploads in parts", Warning, "blobs have to be sent in one request; an upload that breaks off starts again", "let proxies in between accept bodies as large as the largest layer")
	default:
		p.add("uploads in parts", OK, "blobs are accepted in parts, and uploads continue after an interruption", "")
	}
	return nil
}

func (p *probe) verifies(ctx context.Context) error {
	if p.client.VerifiesUploads(ctx, p.at) {
		p.add("digests of uploads", OK, "wrong content is refused", "")
	} else {
		p.add("digests of uploads", Warning, "nothing proves that the registry compares uploads with their digest; Gantry does before it sends them", "verify the mirror with Options.ReadBlobs from time to time")
	}
	return nil
}

func (p *probe) list(ctx context.Context) error {
	const limit = 1000 // as in runs: CNCF distribution refuses to list more
	switch names, err := p.client.Repositories(ctx, p.at, limit); {
	case err != nil:
		p.add("list of repositories", OK, fmt.Sprintf("not available, which costs requests for repositories that are new: %v", err), "")
	default:
		p.add("list of repositories", OK, fmt.Sprintf("%d repositories", len(names)), "")
	}
	return nil
}

// deletion finds out whether the registry deletes, and deletes what was pushed.
func (p *probe) deletion(ctx context.Context) error {
	d, err := p.client.ProbeDeletion(ctx, p.at)
	if err != nil {
		return p.refused(err, "deletion", Warning, fmt.Sprintf("the registry deletes nothing, so %d artifacts of this probe stay in %s", len(p.pushed), p.at.Name()), "enable deletion if content is to be removed later (CNCF distribution: REGISTRY_STORAGE_DELETE_ENABLED=true)")
	}
	text := "manifests and single tags are deleted"
	if !d.Tags {
		text = "manifests are deleted; single tags are not, or only with their manifest"
	}
	left := 0
	for i := len(p.pushed) - 1; i >= 0; i-- { // an index before what it names
		if _, err := p.client.DeleteManifest(ctx, p.pushed[i]); err != nil {
			left++
		}
	}
	if left > 0 {
		p.add("deletion", Warning, fmt.Sprintf("%s, but %d artifacts of this probe stay in %s", text, left, p.at.Name()), "check what the account may delete")
		return nil
	}
	p.add("deletion", OK, text+"; the probe left no manifests", "")
	return nil
}
