package histories

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// foreign is what other clients pushed into the registry of the mirrors.
type foreign struct {
	tags map[string]digest.Digest // by "repository:tag"
	// referrers are those that others attached, by subject.
	referrers map[place][]digest.Digest
	// present are the subjects that the registry had then.
	present map[place]bool
	// named are the images that a catalog with a tag of others names.
	named map[place]bool
}

func newForeign() foreign {
	return foreign{map[string]digest.Digest{}, map[place][]digest.Digest{}, map[place]bool{}, map[place]bool{}}
}

// lose notices which subjects garbage collection deleted, since they have no tag.
func (f *foreign) lose(ctx context.Context, at *rt.Server) error {
	for subject := range f.present {
		m, err := readManifest(ctx, at, subject.repository, subject.digest.String())
		if err != nil {
			return err
		}
		if m == nil {
			delete(f.present, subject)
		}
	}
	return nil
}

// foreigner lets another client push something to a repository of a mirror.
func (e *engine) foreigner(ctx context.Context, s *step) error {
	repository, tag := s.word(1)+"/"+s.word(2), "site-"+s.settings["n"]
	client := e.mirror.Client()
	all, err := e.mirror.Repositories(repository)
	if err != nil {
		return err
	}
	var here rt.Repository
	for _, r := range all {
		if r.Name == repository {
			here = r
		}
	}
	// A manifest that the mirror has.
	var own digest.Digest
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(here.Tags)), func(tag string) bool { return strings.HasPrefix(tag, "site-") })
	if len(names) > 0 {
		own = here.Tags[names[s.number("n")%len(names)]]
	}
	content, err := foreignImage(s.number("n"), tag)
	if err != nil {
		return err
	}
	switch s.word(0) {
	case "tag":
		m, err := readManifest(ctx, e.mirror, repository, own.String())
		if err != nil || m == nil || m.Subject != nil || isList(here, own) {
			return err
		}
		e.foreign.tags[repository+":"+tag] = own
		if err := e.nameImages(ctx, s.word(1), repository, own); err != nil {
			return err
		}
		return retag(ctx, e.mirror, repository, tag, own)
	case "push":
		e.foreign.tags[repository+":"+tag], err = client.Push(ctx, repository, tag, content)
		return err
	case "index":
		return e.pushIndex(ctx, here, repository, tag, content)
	default:
		subject := place{repository, own}
		if strings.Contains(repository, "/org/app") && (own == "" || s.number("n")%3 == 0) { // perhaps of an image that comes later
			subject.digest = e.model.apps[appNumber(repository)][s.number("n")%versions]
		}
		if subject.digest == "" || isList(here, subject.digest) {
			return nil
		}
		m, err := readManifest(ctx, e.mirror, repository, subject.digest.String())
		if err != nil || m != nil && m.Subject != nil {
			return err
		}
		if m != nil {
			e.foreign.present[subject] = true
			if err := e.nameImages(ctx, s.word(1), repository, subject.digest); err != nil {
				return err
			}
		}
		if err := attach(ctx, e.mirror, repository, subject.digest, tag); err != nil {
			return err
		}
		list, err := readManifest(ctx, e.mirror, repository, listTag(subject.digest))
		if err != nil {
			return err
		}
		e.foreign.referrers[subject] = append(e.foreign.referrers[subject], list.Manifests[len(list.Manifests)-1].Digest)
		return nil
	}
}

// isList reports whether a manifest is a list of referrers, or has a tag of a signature.
func isList(r rt.Repository, d digest.Digest) bool {
	for tag, of := range r.Tags {
		if of == d && strings.HasPrefix(tag, "sha256-") && !strings.HasSuffix(tag, ".image") {
			return true
		}
	}
	return false
}

// pushIndex pushes an index of others, with an image of theirs and one that the mirror has.
func (e *engine) pushIndex(ctx context.Context, here rt.Repository, repository, tag string, content v1.Image) error {
	client := e.mirror.Client()
	own, err := client.Push(ctx, repository, "", content)
	if err != nil {
		return err
	}
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, d := range append([]digest.Digest{own}, here.Manifests...) {
		m, err := readManifest(ctx, e.mirror, repository, d.String())
		if err != nil {
			return err
		}
		if m == nil || len(index.Manifests) == 2 || len(m.Manifests) > 0 || m.Subject != nil || isList(here, d) {
			continue
		}
		index.Manifests = append(index.Manifests, ocispec.Descriptor{MediaType: m.MediaType, Digest: d, Size: int64(len(m.raw)), Platform: &ocispec.Platform{OS: "linux", Architecture: fmt.Sprint("arch", len(index.Manifests))}})
	}
	raw, err := json.Marshal(index)
	if err != nil {
		return err
	}
	e.foreign.tags[repository+":"+tag], err = client.PushRaw(ctx, repository, tag, index.MediaType, raw)
	return err
}

// nameImages remembers what a catalog names that others tagged or attached something to: it stays with that.
func (e *engine) nameImages(ctx context.Context, prefix, repository string, d digest.Digest) error {
	if !strings.Contains(repository, "zoo/index") {
		return nil
	}
	v, err := e.mirror.Client().VerifyCatalog(ctx, repository, d.String(), func(path string) string { return prefix + "/" + path })
	for _, image := range v.Images {
		name, at, _ := strings.Cut(image, "@")
		_, path, _ := strings.Cut(name, "/")
		e.foreign.named[place{prefix + "/" + path, digest.Digest(at)}] = true
	}
	return err
}
