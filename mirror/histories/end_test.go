package histories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// end mirrors and prunes all image sets, and lets the registry collect garbage, first without --delete-untagged. Each time,
// everything that is wanted is whole, nothing of others changed, and nothing else is left.
func (e *engine) end(ctx context.Context) error {
	prefixes := map[string]bool{}
	for at, r := range e.records {
		prefixes[at.prefix] = true
		if !r.leaving && e.selections[at.set] != nil {
			continue
		}
		r := e.newRun("prune", "", at.prefix, "w1") // it was killed
		r.Forget = at.set
		if _, err := r.execute(ctx); err != nil && !strings.Contains(err.Error(), "has no image set") && !strings.Contains(err.Error(), "has no records") {
			return fmt.Errorf("giving up %s again: %w", at.set, err)
		}
		delete(e.records, at)
	}
	for _, at := range slices.SortedFunc(maps.Keys(e.records), func(a, b target) int { return strings.Compare(a.prefix+a.set, b.prefix+b.set) }) {
		if e.records[at].text == e.text(at.set) {
			continue // it has what the source has now
		}
		s := parseStep(fmt.Sprintf("mirror %s %s w1", at.set, at.prefix))
		if err := e.command(ctx, &s); err != nil {
			return fmt.Errorf("mirroring %v at the end: %w", at, err)
		}
	}
	rounds := 1
	if prefixes["m"] && prefixes["m/org"] {
		rounds = 2 // what one had of repositories that both have is deleted once the records of the other do not list it
	}
	for range rounds {
		for prefix := range prefixes {
			if e.known(prefix) {
				if _, err := e.sure(ctx, e.newRun("prune", "", prefix, "w1")); err != nil {
					return fmt.Errorf("pruning %s at the end: %w", prefix, err)
				}
				e.prunedAll(prefix, 1)
			}
		}
	}
	for prefix := range prefixes {
		if err := e.nothingToDelete(ctx, prefix); err != nil {
			return err
		}
	}
	for _, untagged := range []bool{false, true} {
		if err := e.collect(ctx, untagged); err != nil {
			return err
		}
		if err := e.checkAll(ctx, untagged); err != nil {
			return fmt.Errorf("after garbage collection (--delete-untagged: %t): %w", untagged, err)
		}
	}
	return nil
}

// nothingToDelete checks that prune finds nothing more, and no run that did not end, in a mirror that was pruned.
func (e *engine) nothingToDelete(ctx context.Context, prefix string) error {
	if !e.known(prefix) {
		return nil
	}
	r := e.newRun("prune", "", prefix, "w1")
	r.Yes = false
	result, err := r.execute(ctx)
	if err != nil {
		return err
	}
	if !result.Plan.Empty() {
		return fmt.Errorf("prune finds more to delete in %s: %+v", prefix, result.Plan)
	}
	s, err := e.stored(ctx)
	if err != nil {
		return err
	}
	for name := range s.tags {
		if strings.HasPrefix(name, prefix+"/gantry-image-sets:") && strings.HasSuffix(name, ".pending") && len(result.Plan.Kept) == 0 {
			return fmt.Errorf("there is a record of a run that did not end: %s", name)
		}
	}
	return nil
}

// checkAll checks a registry whose mirrors were just mirrored and pruned.
func (e *engine) checkAll(ctx context.Context, collected bool) error {
	e.lists.settle(false)
	if err := e.check(ctx, true); err != nil {
		return err
	}
	s, err := e.stored(ctx)
	if err != nil {
		return err
	}
	allowed, err := e.allowed(ctx, s)
	if err != nil {
		return err
	}
	repositories := map[digest.Digest]int{}
	for p := range s.manifests {
		repositories[p.digest]++
	}
	var problems []error
	for p := range s.manifests {
		if allowed[p] || strings.Contains(p.repository, "/gantry-") {
			continue
		}
		m, err := e.manifest(ctx, p)
		if err != nil {
			return err
		}
		replaced := e.isReplacedList(s, p)
		// The registry keeps a manifest without a tag that another repository has with one.
		if !replaced || collected && repositories[p.digest] == 1 {
			var tags []string
			for name, d := range s.tags {
				if repository, tag := splitTag(name); repository == p.repository && d == p.digest {
					tags = append(tags, tag)
				}
			}
			problems = append(problems, fmt.Errorf("nothing wants %s (tags %q): %.300s", p, tags, m.raw))
		}
	}
	return errors.Join(problems...)
}
