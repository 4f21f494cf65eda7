package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Tags lists tags.
type Tags interface {
	// Tags returns tags of the repository of an image, not necessarily all.
	Tags(ctx context.Context, image string) ([]string, error)
}

// tagListTime limits the time for a list of tags, which only improves an error.
const tagListTime = 10 * time.Second

// adviseTag adds the nearest tags to err if the catalog's tag does not exist.
func (s *Source) adviseTag(ctx context.Context, err error) error {
	ref, unparsed := reference.Parse(s.Name)
	if s.from.Tags == nil || unparsed != nil || ref.Tag == "" || ref.Digest != "" || !errors.Is(err, fs.ErrNotExist) || advice.Hint(err) != "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tagListTime)
	defer cancel()
	tags, unlisted := s.from.Tags.Tags(ctx, s.Name)
	switch {
	case errors.Is(unlisted, fs.ErrNotExist):
		return advice.Wrap(advice.KindOf(err), err, "the repository does not exist; check its name")
	case unlisted != nil:
		return err
	}
	hint := "check the tag"
	switch near := suggest.Tags(ref.Tag, tags); len(near) {
	case 0:
	case 1:
		hint = "the nearest is " + near[0]
	default:
		hint = "the nearest are " + strings.Join(near, ", ")
	}
	return advice.Wrap(advice.KindOf(err), err, fmt.Sprintf("tag %s does not exist; %s", ref.Tag, hint))
}
