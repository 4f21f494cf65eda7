package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A TagRule is a rule of the configuration that selected tags of a repository, as it was applied. The
// images that it selected have Reasons with Rule.
type TagRule struct {
	// Repository is the repository at the source: "quay.io/org/name".
	Repository string `json:"repository"`
	// Rule are the conditions as text.
	Rule string `json:"rule"`
	// Selection is the mirror.additionalImages[] entry.
	Selection json.RawMessage `json:"selection"`
	// CreatedBefore and CreatedAfter are the days ("2026-01-31", midnight UTC) that olderThan and
	// newerThan stood for when the plan was made; "" if they are not set. An image that was created on
	// CreatedAfter is selected, one that was created on CreatedBefore is not.
	CreatedBefore string `json:"createdBefore,omitempty"`
	CreatedAfter  string `json:"createdAfter,omitempty"`
	// Selected is the number of tags that were selected.
	Selected int `json:"selected"`
}

// maxSelected is the maximum number of tags that a rule selects.
const maxSelected = 1_000_000

func (t *TagRule) check() error {
	errs := []error{checkText("the rule", t.Rule), checkObject("the selection", t.Selection)}
	if ref, err := reference.Parse(t.Repository); err != nil || ref.Identifier() != "" {
		errs = append(errs, fmt.Errorf("%s is not a repository", quoted(t.Repository)))
	}
	for _, day := range []string{t.CreatedBefore, t.CreatedAfter} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			errs = append(errs, fmt.Errorf("%s is not a date", quoted(day)))
		}
	}
	if t.Selected < 0 || t.Selected > maxSelected {
		errs = append(errs, errors.New("the number of its tags is impossible"))
	}
	return in("rule for", t.Repository, errs...)
}
