package build

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/imageset/tagrule"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// listedImages are the images of additionalImages, with those that rules for tags select.
type listedImages struct {
	images []listedImage
	rules  []plan.TagRule
	notes  []string
}

// A listedImage is one image of additionalImages. rule is the text of the rule that selected its tag, or "".
type listedImage struct {
	imageset.Image
	rule string
}

// listImages applies the rules for tags of additional images. That no tag matches is an error of the
// configuration, unless the rule allows it.
func listImages(ctx context.Context, images []imageset.Image, sources Sources, opts Options) (listedImages, error) {
	results, err := collect(ctx, len(images), maxCatalogs, func(ctx context.Context, i int) (listedImages, error) {
		if images[i].Tags == nil {
			return listedImages{images: []listedImage{{Image: images[i]}}}, nil
		}
		return applyTagRule(ctx, images[i], sources, opts)
	})
	var all listedImages
	for _, r := range results {
		all.images = append(all.images, r.images...)
		all.rules = append(all.rules, r.rules...)
		all.notes = append(all.notes, r.notes...)
	}
	elements.Sort(all.rules, func(a, b plan.TagRule) int {
		return cmp.Or(strings.Compare(a.Repository, b.Repository), strings.Compare(string(a.Selection), string(b.Selection)))
	})
	return all, err
}

// applyTagRule returns the images that one rule selects.
func applyTagRule(ctx context.Context, img imageset.Image, sources Sources, opts Options) (listedImages, error) {
	var out listedImages
	// The errors of several rules are joined, so that what to do about each is in its text.
	fail := func(kind advice.Kind, err error, remedy string) (listedImages, error) {
		if remedy != "" {
			err = fmt.Errorf("%w; %s", err, remedy)
		}
		return out, advice.Wrap(kind, fmt.Errorf("%s: %s: %w", img.Tags.Pos, img.Name, err), "")
	}
	conditions := *img.Tags
	if limit := opts.youngest(); !limit.IsZero() {
		if before, err := tagrule.Cutoff(conditions.OlderThan, opts.Now); err != nil || before.After(limit) {
			conditions.OlderThan = day(limit) // an error is that it is empty
		}
	}
	selector, rule, err := conditions.Selector(opts.Now)
	if err != nil {
		return fail(advice.Input, err, "")
	}
	repo, err := reference.Parse(img.Name)
	if err != nil {
		return fail(advice.Input, err, "")
	}
	if sources.TagLists == nil {
		return out, errors.New("no source lists tags")
	}
	tags, err := sources.TagLists.AllTags(ctx, repo.Name())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fail(advice.Input, fmt.Errorf("its tags cannot be listed: %w", err), cmp.Or(advice.Hint(err), "check the name of the repository"))
		}
		return fail(advice.KindOf(err), fmt.Errorf("its tags cannot be listed: %w", err), advice.Hint(err))
	}
	matched := selector.Match(tags)
	created := map[string]time.Time{}
	if selector.NeedsDates(matched) {
		if created, err = creationTimes(ctx, repo, selector, matched, sources, opts); err != nil {
			return fail(advice.KindOf(err), err, advice.Hint(err))
		}
	}
	selected := selector.Choose(matched, created)
	text := img.Tags.String()
	if len(selected) == 0 {
		why := selector.Nearest(tags)
		if len(matched) > 0 {
			why = nearestAge(matched, created)
		}
		named := tagrule.Count(tags)
		message := fmt.Sprintf("none of its %d tags matches the rule (%s)", named, text)
		if named == 1 {
			message = fmt.Sprintf("its only tag does not match the rule (%s)", text)
		}
		if !img.Tags.AllowNone {
			return fail(advice.Input, errors.New(message), why)
		}
		out.notes = append(out.notes, fmt.Sprintf("%s: %s; %s", repo.Name(), message, why))
	}
	for _, e := range selector.Unused(tags, selected) {
		out.notes = append(out.notes, fmt.Sprintf("%s: exclude %s matches no tag, only a part of selected ones; an expression must match the whole tag, such as .*%s.*", repo.Name(), e, e))
	}
	if undated := countUndated(matched, created); len(created) > 0 && undated > 0 {
		out.notes = append(out.notes, fmt.Sprintf("%s: %s no creation time that can be read; %s", repo.Name(), count(undated, "tag has", "tags have"), undatedResult(&conditions)))
	}
	entry, err := json.Marshal(img)
	if err != nil {
		return out, fmt.Errorf("writing the rule for %s: %w", img.Name, err)
	}
	out.rules = []plan.TagRule{{
		Repository: repo.Name(), Rule: text, Selection: entry, CreatedBefore: day(rule.Before), CreatedAfter: day(rule.After), Selected: len(selected),
	}}
	for _, tag := range selected {
		one := img
		one.Name, one.Tags = img.Name+":"+tag, nil
		out.images = append(out.images, listedImage{Image: one, rule: text})
	}
	return out, nil
}

// nearestAge is the hint if only the ages of the images that matched exclude them: the youngest and the oldest.
func nearestAge(matched []tagrule.Tag, created map[string]time.Time) string {
	dated := elements.Filter(matched, func(t tagrule.Tag) bool { return !created[t.Name].IsZero() })
	if len(dated) == 0 {
		return fmt.Sprintf("%s, but no creation time is known", count(len(matched), "tag matches by its name", "tags match by their names"))
	}
	elements.Sort(dated, func(a, b tagrule.Tag) int { return created[b.Name].Compare(created[a.Name]) })
	newest, oldest := dated[0].Name, dated[len(dated)-1].Name
	hint := fmt.Sprintf("%s; the newest is %s, created on %s", count(len(matched), "tag matches by its name", "tags match by their names"), newest, day(created[newest].UTC()))
	if oldest != newest {
		hint += fmt.Sprintf(", the oldest %s, created on %s", oldest, day(created[oldest].UTC()))
	}
	return hint
}

// countUndated counts the tags whose images were read and have no creation time.
func countUndated(matched []tagrule.Tag, created map[string]time.Time) int {
	n := 0
	for _, t := range matched {
		if at, read := created[t.Name]; read && at.IsZero() {
			n++
		}
	}
	return n
}

// undatedResult says what becomes of tags without a creation time.
func undatedResult(rule *imageset.TagRule) string {
	if rule.OlderThan != "" || rule.NewerThan != "" {
		return "olderThan and newerThan do not select them"
	}
	return "newest counts them as the oldest"
}
