package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

const (
	// maxAttachmentDepth is how many signatures of signatures (of ...) are followed, and
	// maxAttachments how many attachments one manifest has; more are an error.
	maxAttachmentDepth = 4
	maxAttachments     = 1000
)

// An attachment is an image that belongs to a manifest, its subject.
type attachment struct {
	source  string // reference by tag or digest
	kind    plan.ImageKind
	tag     string // "" for a referrer
	digest  digest.Digest
	subject digest.Digest
	// artifactType and predicateType are those of a referrer (plan.Image).
	artifactType, predicateType string

	err error // why it cannot be mirrored
}

// A sourceSubject is a manifest in a repository of a source that may have attachments.
type sourceSubject struct {
	repository *sourceRepository
	digest     digest.Digest
	// wants are the tags that are requested by name if no list shows them.
	wants tagKinds
	// optional is false if the signatures must exist; policies has a rule for them then.
	signed *signedImage
	// noReferrers is set for signatures of cosign, whose referrers are not requested.
	noReferrers bool

	found []*attachment
	notes []string
}

// A sourceRepository is a repository of a source.
type sourceRepository struct {
	source   string // of one of its images
	named    func(identifier string) string
	subjects map[digest.Digest]*sourceSubject
	roots    []digest.Digest // of images, not of their platforms
	tags     *tagIndex
	err      error // why nothing can be found there
}

// An attachmentFinder finds what belongs to the images of a plan.
type attachmentFinder struct {
	graph   *manifestGraph
	sources Sources
	opts    Options

	repositories map[string]*sourceRepository
	// known are the digests of tags that need not be requested again.
	known map[string]digest.Digest
	mu    sync.Mutex // guards what is below, and found and notes of subjects
	notes []string
}

// subject returns a manifest whose attachments are looked for, and whether it was added now.
func (r *sourceRepository) subject(d digest.Digest) (s *sourceSubject, added bool) {
	if s = r.subjects[d]; s != nil {
		return s, false
	}
	s = &sourceSubject{repository: r, digest: d}
	r.subjects[d] = s
	return s, true
}

// find finds the attachments of the subjects of all repositories, and their attachments.
func (f *attachmentFinder) find(ctx context.Context) error {
	var round []*sourceSubject
	for _, name := range slices.Sorted(maps.Keys(f.repositories)) {
		for _, d := range slices.Sorted(maps.Keys(f.repositories[name].subjects)) {
			round = append(round, f.repositories[name].subjects[d])
		}
	}
	if err := f.listTags(ctx); err != nil {
		return err
	}
	if err := f.reuse(ctx); err != nil {
		return err
	}
	for depth := 0; len(round) > 0; depth++ {
		if depth == maxAttachmentDepth {
			f.notes = append(f.notes, fmt.Sprintf("signatures of signatures are mirrored up to a depth of %d; those of %s are left out", depth, round[0].digest))
			return nil
		}
		if err := f.findRound(ctx, round); err != nil {
			return err
		}
		var next []*sourceSubject
		for _, s := range round {
			for _, a := range s.found {
				if a.err != nil || f.sources.Attachments == nil {
					continue
				}
				for _, d := range f.graph.reachable(a.digest) {
					if n, added := s.repository.subject(d); added {
						n.noReferrers = a.kind == plan.SignatureImage
						next = append(next, n)
					}
				}
			}
		}
		round = next
	}
	return nil
}

// listTags lists the tags of all repositories.
func (f *attachmentFinder) listTags(ctx context.Context) error {
	if f.sources.Attachments == nil {
		return nil
	}
	all := slices.Collect(maps.Values(f.repositories))
	return eachOf(ctx, len(all), f.opts.Jobs, func(ctx context.Context, i int) error {
		r := all[i]
		var err error
		r.tags, err = listAttachmentTags(ctx, f.sources.Attachments, r.source, len(r.subjects))
		if err != nil && ctx.Err() == nil && !errors.Is(err, errors.ErrUnsupported) {
			r.err = fmt.Errorf("looking for signatures and other referrers: %w", err)
		}
		return ctx.Err()
	})
}

// findRound finds the attachments of subjects. There are two stages: which there are, and their manifests.
func (f *attachmentFinder) findRound(ctx context.Context, round []*sourceSubject) error {
	err := eachOf(ctx, len(round), f.opts.Jobs, func(ctx context.Context, i int) error {
		return f.look(ctx, round[i])
	})
	if err != nil {
		return err
	}
	type pair struct {
		of *sourceSubject
		a  *attachment
	}
	var all []pair
	for _, s := range round {
		f.notes = append(f.notes, s.notes...)
		for _, a := range s.found {
			all = append(all, pair{s, a})
		}
	}
	err = eachOf(ctx, len(all), f.opts.Jobs, func(ctx context.Context, i int) error {
		return f.read(ctx, all[i].of, all[i].a)
	})
	for _, s := range round {
		s.found = slices.DeleteFunc(s.found, func(a *attachment) bool { return a.digest == "" && a.err == nil })
	}
	return err
}

// look finds out which attachments a subject has.
func (f *attachmentFinder) look(ctx context.Context, s *sourceSubject) error {
	r := s.repository
	if r.err != nil {
		return nil //nolint:nilerr // it is reported with what is missing
	}
	tags, known := tagKinds(0), false
	if r.tags != nil {
		tags, known = r.tags.find(s.digest)
	}
	switch {
	case !known:
		tags = s.wants
	case r.tags.empty && s.signed != nil && s.signed.required:
		// A proxy may list nothing although it has tags. That costs a signature only if it is not required.
		tags = signatureTag
	}
	if f.sources.Attachments != nil && !s.noReferrers {
		list, supported, err := f.sources.Attachments.Referrers(ctx, r.source, s.digest)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.found = append(s.found, s.failed(plan.ReferrerImage, r.named(s.digest.String()), fmt.Errorf("listing its referrers: %w", err)))
		case supported:
			tags &^= referrersTag
			f.addReferrers(s, list)
		}
	}
	for _, t := range attachmentTags {
		tag := tagPrefix + s.digest.Encoded() + t.ending
		switch {
		case tags&t.bit != 0 && t.bit == referrersTag:
			if err := f.readList(ctx, s, tag); err != nil {
				return err
			}
		case tags&t.bit != 0:
			s.found = append(s.found, &attachment{source: r.named(":" + tag), kind: t.kind, tag: tag, subject: s.digest})
		case t.bit == signatureTag && known && s.signed != nil && s.signed.required:
			s.found = append(s.found, s.failed(t.kind, r.named(":"+tag), s.signed.missing(errNotListed(tag))))
		}
	}
	return nil
}

// failed returns an attachment that cannot be mirrored.
func (s *sourceSubject) failed(kind plan.ImageKind, source string, err error) *attachment {
	return &attachment{source: source, kind: kind, subject: s.digest, err: err}
}

// readList reads the list of referrers that a tag names. It returns an error only if ctx ends.
func (f *attachmentFinder) readList(ctx context.Context, s *sourceSubject, tag string) error {
	source := s.repository.named(":" + tag)
	desc, raw, err := f.sources.uncached.Manifest(ctx, source, "")
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist), err == nil && desc.Digest == s.digest: // in a mirror, images have such tags
		return nil
	case err != nil:
		s.found = append(s.found, s.failed(plan.ReferrerImage, source, err))
		return nil
	case !manifest.IsIndex(desc.MediaType):
		s.notes = append(s.notes, fmt.Sprintf("%s is reserved for a list of referrers, but it is another image; ignored", source))
		return nil
	}
	list, err := f.sources.Attachments.ParseReferrers(raw)
	if err != nil {
		s.found = append(s.found, s.failed(plan.ReferrerImage, source, err))
		return nil
	}
	f.addReferrers(s, list)
	return nil
}

// addReferrers adds the referrers of a list.
func (f *attachmentFinder) addReferrers(s *sourceSubject, list []ocispec.Descriptor) {
	if len(list) > maxAttachments {
		s.found = append(s.found, s.failed(plan.ReferrerImage, s.repository.named("@"+s.digest.String()), fmt.Errorf("it has %d referrers, more than %d", len(list), maxAttachments)))
		return
	}
	seen := map[digest.Digest]bool{}
	for _, d := range list {
		source := s.repository.named("@" + d.Digest.String())
		switch {
		case seen[d.Digest] || d.Digest == s.digest:
		case !manifest.Is(d.MediaType):
			s.notes = append(s.notes, fmt.Sprintf("referrer %s of %s is left out: registries no longer accept its type, %q", source, s.digest, d.MediaType))
		default:
			s.found = append(s.found, &attachment{source: source, kind: plan.ReferrerImage, digest: d.Digest, subject: s.digest})
		}
		seen[d.Digest] = true
	}
}

// read reads the manifest of an attachment into the graph. What is not there, or belongs to another
// image, gets no digest. It returns an error only if ctx ends.
func (f *attachmentFinder) read(ctx context.Context, s *sourceSubject, a *attachment) error {
	if a.err != nil {
		return nil //nolint:nilerr // it is reported with what is missing
	}
	drop := func(format string, args ...any) {
		a.digest = ""
		f.mu.Lock()
		defer f.mu.Unlock()
		f.notes = append(f.notes, fmt.Sprintf(format, args...))
	}
	desc, raw, err := f.manifest(ctx, a)
	listed := a.tag == ""
	if !listed && s.repository.tags != nil {
		_, listed = s.repository.tags.find(s.digest)
	}
	required := s.signed != nil && s.signed.required && a.kind == plan.SignatureImage
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist) && required:
		a.err = s.signed.missing(err)
		return nil
	case errors.Is(err, fs.ErrNotExist) && !listed: // it was only tried
		return nil
	case err != nil:
		a.err = err
		return nil //nolint:nilerr // it is reported with what is missing
	case desc.Digest == s.digest:
		drop("%s is left out: it is the image that it should belong to", a.source)
		return nil
	}
	if subject := subjectOf(raw); a.tag == "" && subject != s.digest || subject != "" && subject != s.digest {
		drop("%s is left out: it is listed as a referrer of %s, but it refers to %q", a.source, s.digest, string(subject))
		return nil
	}
	a.digest = desc.Digest
	if a.kind == plan.ReferrerImage {
		a.artifactType, a.predicateType = artifactOf(desc.MediaType, raw)
	}
	if a.err = f.graph.add(desc, raw); a.err == nil {
		a.err = f.graph.resolve(ctx, &imageRequest{source: a.source, kind: a.kind, all: true}, desc)
	}
	if a.err == nil && s.signed != nil && a.kind == plan.SignatureImage {
		a.err = s.signed.verify(ctx, f.sources.Images, raw, a.source)
	}
	return ctx.Err()
}

// repositoryOf returns the repository of a source, and its name; nil if nothing can be found beside the source.
func (f *attachmentFinder) repositoryOf(source string) *sourceRepository {
	var name string
	var named func(string) string
	switch {
	case strings.HasPrefix(source, dirScheme):
		return nil
	case strings.HasPrefix(source, ociScheme):
		dir, image := plan.SplitLayout(source)
		if at := strings.LastIndexByte(image, ':'); at >= 0 && !strings.HasPrefix(image, "sha256:") {
			name = image[:at+1]
		}
		prefix := name
		named = func(identifier string) string {
			if tag, ok := strings.CutPrefix(identifier, ":"); ok {
				return ociScheme + dir + ":" + prefix + tag
			}
			return ociScheme + dir + identifier
		}
		name = ociScheme + dir + ":" + name
	default:
		ref, err := parseSource(source)
		if err != nil {
			return nil
		}
		name = ref.Name()
		repository := name
		named = func(identifier string) string { return repository + identifier }
	}
	r := f.repositories[name]
	if r == nil {
		r = &sourceRepository{source: source, named: named, subjects: map[digest.Digest]*sourceSubject{}}
		f.repositories[name] = r
	}
	return r
}
