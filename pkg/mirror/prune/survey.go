package prune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A survey is what the registry has of one repository with unwanted content.
type survey struct {
	*repository
	maker *maker

	mu sync.Mutex
	// at is the manifest of each tag that the registry has.
	at map[string]digest.Digest
	// present are unwanted manifests that the registry has.
	present map[digest.Digest]bool
	// held has the reason for each manifest that stays although no revision needs it.
	held map[digest.Digest]string
	// unknown are the contents of manifests that no record lists.
	unknown map[digest.Digest]*content
	// lists are the referrers that tags list, by the subject.
	lists map[digest.Digest][]digest.Digest
	// belong are the manifests that records list as signatures and other referrers of a manifest.
	belong map[digest.Digest][]digest.Digest
	// described are the manifests whose content was added, with the least depth, and whether they were wanted then.
	described map[digest.Digest]described
	// tags are those to delete while their manifests stay, or are already gone.
	tags []Tag
}

type described struct {
	depth  int
	wanted bool
}

func newSurvey(repo *repository, m *maker) *survey {
	s := &survey{
		repository: repo, maker: m, at: map[string]digest.Digest{}, present: map[digest.Digest]bool{}, held: map[digest.Digest]string{},
		unknown: map[digest.Digest]*content{}, lists: map[digest.Digest][]digest.Digest{}, belong: map[digest.Digest][]digest.Digest{},
		described: map[digest.Digest]described{},
	}
	for d, at := range repo.manifests {
		if at.subject != "" {
			s.belong[at.subject] = append(s.belong[at.subject], d)
		}
	}
	return s
}

// candidate returns the place of a manifest that records list and no revision needs, or nil.
func (s *survey) candidate(d digest.Digest) *place {
	if at := s.manifests[d]; at != nil && !at.wanted {
		return at
	}
	return nil
}

// hold keeps a manifest that no revision needs, what it contains, and what belongs to it.
func (s *survey) hold(d digest.Digest, reason string) {
	if s.candidate(d) == nil || s.held[d] != "" {
		return
	}
	s.held[d] = reason
	if c := s.maker.content(d); c != nil {
		for _, child := range c.children {
			s.hold(child, "it is part of "+string(d)+", which stays")
		}
	}
	for _, other := range s.belong[d] {
		s.hold(other, "it belongs to "+string(d)+", which stays")
	}
}

// run asks the registry for what stands against deletions in the repository.
func (s *survey) run(ctx context.Context) error {
	tags, err := s.maker.registry.Tags(ctx, s.path)
	if err != nil {
		return err
	}
	if err := s.describeRecorded(ctx); err != nil {
		return err
	}
	if err := s.resolve(ctx, tags); err != nil {
		return err
	}
	for _, tag := range tags {
		if err := s.judge(ctx, tag, s.at[tag]); err != nil {
			return err
		}
	}
	if err := s.askReferrers(ctx); err != nil {
		return err
	}
	return s.findPresent(ctx)
}

// describeRecorded reads the manifests that only records list, without their content.
func (s *survey) describeRecorded(ctx context.Context) error {
	var read []digest.Digest
	for d, at := range s.manifests {
		if at.revision.orNone().Number == 0 {
			read = append(read, d)
		}
	}
	slices.Sort(read)
	for _, d := range read {
		if err := s.describe(ctx, d, 0); err != nil {
			return err
		}
	}
	return nil
}

// describe adds what a manifest contains. It is read unless another repository or a plan has it.
func (s *survey) describe(ctx context.Context, d digest.Digest, depth int) error {
	at, c := s.manifests[d], s.maker.content(d)
	if before, ok := s.described[d]; ok && before.depth <= depth && before.wanted == at.wanted {
		return nil // indexes may list each other many times
	}
	s.described[d] = described{depth, at.wanted}
	if c == nil {
		mediaType, raw, err := s.maker.registry.Manifest(ctx, s.path, d)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		var subject digest.Digest
		if c, subject, err = s.maker.parse(mediaType, raw); err != nil {
			return fmt.Errorf("reading %s@%s: %w", s.path, d, err)
		}
		s.maker.add(d, c)
		if subject != "" && at.subject == "" {
			at.subject = subject
			s.belong[subject] = append(s.belong[subject], d)
		}
	}
	for _, child := range c.children {
		if s.manifests[child] == nil {
			s.manifests[child] = &place{revision: at.revision, source: at.source}
		}
		if s.manifests[child].wanted = s.manifests[child].wanted || at.wanted; depth < plan.MaxDepth {
			if err := s.describe(ctx, child, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve finds the manifests of tags, a few at a time.
func (s *survey) resolve(ctx context.Context, tags []string) error {
	return each(ctx, s.maker.streams, len(tags), func(ctx context.Context, i int) error {
		d, err := s.maker.registry.Resolve(ctx, s.path, tags[i])
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.at[tags[i]] = d
		return nil
	})
}

// judge decides what a tag and the manifest that it names mean for deletions.
func (s *survey) judge(ctx context.Context, tag string, d digest.Digest) error {
	known, recorded := s.manifests[d], s.repository.tags[tag]
	if d == "" {
		// It was deleted meanwhile, or the registry was interrupted after it had deleted the manifest.
		if recorded != nil && !recorded.wanted {
			s.tags = append(s.tags, Tag{Repository: s.path, Tag: tag, Digest: recorded.names[len(recorded.names)-1], LastWanted: recorded.revision.orNone()})
		}
		return nil
	}
	if known == nil {
		return s.judgeUnknown(ctx, tag, d)
	}
	if tag == plan.OwnTag(d) { // it goes and stays with the manifest
		if !known.wanted {
			s.present[d] = true
		}
		return nil
	}
	isIts := recorded != nil && slices.Contains(recorded.names, d)
	switch {
	case isIts && !recorded.wanted && known.wanted:
		s.tags = append(s.tags, Tag{Repository: s.path, Tag: tag, Digest: d, LastWanted: recorded.revision.orNone()})
	case known.wanted:
	case recorded != nil && recorded.holds:
		s.present[d] = true
		s.hold(d, fmt.Sprintf("the tag %s, which is needed, still names it", tag))
	case !isIts:
		s.present[d] = true
		s.hold(d, fmt.Sprintf("no record lists its tag %s", tag))
	default:
		s.present[d] = true
	}
	return nil
}

// judgeUnknown decides what a tag means whose manifest is in no record.
func (s *survey) judgeUnknown(ctx context.Context, tag string, d digest.Digest) error {
	if subject, ok := subjectOfTag(tag); ok && strings.Contains(tag, ".") {
		s.hold(subject, fmt.Sprintf("no record lists what belongs to it under the tag %s", tag))
	}
	return s.readUnknown(ctx, d, tag, 0)
}

// readUnknown reads a manifest that is in no record, and keeps what it refers to. A list of referrers
// refers to its subject only if it has entries that are in no record.
func (s *survey) readUnknown(ctx context.Context, d digest.Digest, tag string, depth int) error {
	if s.unknown[d] != nil || depth > plan.MaxDepth {
		return nil
	}
	mediaType, raw, err := s.maker.registry.Manifest(ctx, s.path, d)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	c, subject, err := s.maker.parse(mediaType, raw)
	if err != nil {
		return fmt.Errorf("reading %s@%s: %w", s.path, d, err)
	}
	s.unknown[d] = c
	if subject != "" {
		s.hold(subject, fmt.Sprintf("no record lists its referrer %s", d))
	}
	of, isList := subjectOfTag(tag)
	isList = isList && !strings.Contains(tag, ".") && manifest.IsIndex(mediaType)
	if isList {
		s.lists[of] = c.children
	}
	for _, child := range c.children {
		switch {
		case s.manifests[child] == nil:
			if isList {
				s.hold(of, fmt.Sprintf("no record lists its referrer %s", child))
			}
			if err := s.readUnknown(ctx, child, "", depth+1); err != nil {
				return err
			}
		case isList: // it is deleted with its subject
			if s.candidate(child) != nil {
				s.present[child] = true
			}
		default:
			if s.candidate(child) != nil {
				s.present[child] = true
			}
			s.hold(child, fmt.Sprintf("it is part of %s, which no record lists", d))
		}
	}
	if isList {
		c.children = nil // the list does not keep its entries
	}
	return nil
}

// askReferrers asks the registry for the referrers of every manifest that would be deleted, if it has the referrers API.
func (s *survey) askReferrers(ctx context.Context) error {
	var ask []digest.Digest
	for d, at := range s.manifests {
		if !at.wanted && s.held[d] == "" {
			ask = append(ask, d)
		}
	}
	slices.Sort(ask)
	lists := make([][]ocispec.Descriptor, len(ask))
	err := each(ctx, s.maker.streams, len(ask), func(ctx context.Context, i int) error {
		if s.maker.noAPI.Load() {
			return nil
		}
		list, api, err := s.maker.registry.Referrers(ctx, s.path, ask[i])
		if !api && err == nil {
			s.maker.noAPI.Store(true)
		}
		lists[i] = list
		return err
	})
	if err != nil {
		return err
	}
	for i, d := range ask {
		for _, r := range lists[i] {
			switch at := s.manifests[r.Digest]; {
			case at == nil:
				s.hold(d, fmt.Sprintf("no record lists its referrer %s", r.Digest))
				if err := s.readUnknown(ctx, r.Digest, "", 0); err != nil {
					return err
				}
			case !at.wanted:
				s.present[r.Digest] = true
			}
		}
	}
	return nil
}

// findPresent finds out which of the unwanted manifests the registry has. Those with a tag are known, and
// so is what they contain. The others are requested.
func (s *survey) findPresent(ctx context.Context) error {
	var roots, others []digest.Digest
	for d := range s.present {
		roots = append(roots, d)
	}
	var add func(d digest.Digest)
	add = func(d digest.Digest) {
		if c := s.maker.content(d); c != nil {
			for _, child := range c.children {
				if s.candidate(child) != nil && !s.present[child] {
					s.present[child] = true
					add(child)
				}
			}
		}
	}
	for _, d := range roots {
		add(d)
	}
	for d, at := range s.manifests {
		if !at.wanted && !s.present[d] {
			others = append(others, d)
		}
	}
	slices.Sort(others)
	return each(ctx, s.maker.streams, len(others), func(ctx context.Context, i int) error {
		d, err := s.maker.registry.Resolve(ctx, s.path, string(others[i]))
		if err != nil || d == "" {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.present[d] = true
		return nil
	})
}

// subjectOfTag returns the digest that a tag is made of: sha256-HEX, with or without an ending.
func subjectOfTag(tag string) (digest.Digest, bool) {
	name, _, _ := strings.Cut(tag, ".")
	algorithm, hex, ok := strings.Cut(name, "-")
	d := digest.NewDigestFromEncoded(digest.Algorithm(algorithm), hex)
	return d, ok && d.Validate() == nil
}

// each calls f for 0 to n-1, some at the same time, until one returns an error or ctx ends.
func each(ctx context.Context, streams, n int, f func(ctx context.Context, i int) error) error {
	g, running := errgroup.WithContext(ctx)
	g.SetLimit(streams)
	for i := range n {
		g.Go(func() error {
			if running.Err() != nil {
				return context.Cause(running)
			}
			return f(running, i)
		})
	}
	err := g.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
