package prune

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Kind and Version are those of the document.
const (
	Kind    = "GantryDeletionPlan"
	Version = 1
)

// maxDocument is the maximum size of a plan that is read, in bytes.
const maxDocument = 256 << 20

// A DeletionPlan lists what is deleted from a mirror, and what is not. gantry prune --save writes its JSON with the
// keys turn and turns instead of revision and revisions. All lists are sorted, and there are no times in it.
type DeletionPlan struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	// Mirror is docker://HOST[:PORT][/PREFIX].
	Mirror string `json:"mirror"`
	// Records are the tags of all records in the mirror that the plan was made from.
	Records []string `json:"records"`
	// Forgets is the image set that was given up; "" if none was.
	Forgets string `json:"forgets,omitempty"`
	Totals  Totals `json:"totals"`
	// Tags are deleted while their manifests stay, or are already gone.
	Tags []Tag `json:"tags,omitempty"`
	// Manifests are deleted with all their tags, in this order.
	Manifests []Manifest `json:"manifests,omitempty"`
	// Lists are lists of referrers, under tags, that lose entries.
	Lists []List `json:"referrerLists,omitempty"`
	// Kept is what no image set needs, and what stays nevertheless.
	Kept []Kept `json:"kept,omitempty"`
	// Revisions are the tags of records that are deleted last, since nothing is left of their content that
	// other records do not list.
	Revisions []string `json:"revisions,omitempty"`
	// Deprecated: Turns are Revisions under the key of earlier versions.
	Turns []string `json:"turns,omitempty"`
}

// Totals summarizes a plan. Bytes is the size of the content that no manifest refers to when
// everything is deleted: the registry frees at most that, when it collects garbage.
type Totals struct {
	Repositories int   `json:"repositories"`
	Tags         int   `json:"tags"`
	Manifests    int   `json:"manifests"`
	Kept         int   `json:"kept"`
	Bytes        int64 `json:"bytes"`
}

// A Tag is a tag that is deleted, and the manifest that stays. If a deletion was interrupted in the registry,
// the tag has no manifest, and Digest is the last one that records list for it.
type Tag struct {
	Repository string        `json:"repository"`
	Tag        string        `json:"tag"`
	Digest     digest.Digest `json:"digest"`
	LastWanted Revision      `json:"lastWantedBy"`
}

// A Manifest is a manifest that is deleted.
type Manifest struct {
	Repository string        `json:"repository"`
	Digest     digest.Digest `json:"digest"`
	// Tags are those that it has in the registry.
	Tags []string `json:"tags,omitempty"`
	// Source is the image that it is, or that it is a part of, as plans call it.
	Source string `json:"source,omitempty"`
	// Subject is what it is a signature or another referrer of.
	Subject digest.Digest `json:"subject,omitempty"`
	// Step is when it is deleted: published catalogs and releases first (0), then images and indexes, then what
	// indexes contain, then signatures and other referrers.
	Step       int      `json:"step"`
	LastWanted Revision `json:"lastWantedBy"`
	// Bytes is the size of what no manifest refers to after it was deleted. What several deleted
	// manifests contain counts for the first.
	Bytes int64 `json:"bytes"`
}

// A List is a list of referrers of a manifest that stays.
type List struct {
	Repository string          `json:"repository"`
	Subject    digest.Digest   `json:"subject"`
	Remove     []digest.Digest `json:"remove"`
}

// Kept is content that stays although no image set needs it. Digest is "" for a whole repository, and Tag
// is set for a tag of a manifest that is wanted.
type Kept struct {
	Repository string        `json:"repository"`
	Digest     digest.Digest `json:"digest,omitempty"`
	Tag        string        `json:"tag,omitempty"`
	Reason     string        `json:"reason"`
	LastWanted Revision      `json:"lastWantedBy"`
	// Published reports that it is a catalog or a release with a tag, which names other images.
	Published bool `json:"published,omitempty"`
}

// Empty reports whether nothing is deleted.
func (p *DeletionPlan) Empty() bool {
	return len(p.Tags) == 0 && len(p.Manifests) == 0 && len(p.Lists) == 0 && len(p.Revisions) == 0
}

// sort sorts the lists and counts.
func (p *DeletionPlan) sort() {
	elements.Sort(p.Tags, func(a, b Tag) int {
		return cmp.Or(strings.Compare(a.Repository, b.Repository), strings.Compare(a.Tag, b.Tag))
	})
	elements.Sort(p.Manifests, compareManifests)
	elements.Sort(p.Lists, func(a, b List) int {
		return cmp.Or(strings.Compare(a.Repository, b.Repository), strings.Compare(string(a.Subject), string(b.Subject)))
	})
	elements.Sort(p.Kept, func(a, b Kept) int {
		return cmp.Or(strings.Compare(a.Repository, b.Repository), strings.Compare(string(a.Digest), string(b.Digest)), strings.Compare(a.Tag, b.Tag))
	})
	p.count()
}

// count sets the totals.
func (p *DeletionPlan) count() {
	p.Totals = Totals{Tags: len(p.Tags), Manifests: len(p.Manifests), Kept: len(p.Kept)}
	repositories := map[string]bool{}
	for i := range p.Manifests {
		m := &p.Manifests[i]
		repositories[m.Repository] = true
		p.Totals.Tags += len(m.Tags)
		p.Totals.Bytes += m.Bytes
	}
	for _, t := range p.Tags {
		repositories[t.Repository] = true
	}
	p.Totals.Repositories = len(repositories)
}

func compareManifests(a, b Manifest) int {
	return cmp.Or(cmp.Compare(a.Step, b.Step), strings.Compare(a.Repository, b.Repository), strings.Compare(string(a.Digest), string(b.Digest)))
}

// AddFormerKeys adds the deprecated keys that earlier versions print.
func (p *DeletionPlan) AddFormerKeys() {
	p.Turns = p.Revisions
	p.eachRevision(func(r *Revision) { r.Turn = r.Number })
}

// eachRevision calls change for each revision that last needed something.
func (p *DeletionPlan) eachRevision(change func(*Revision)) {
	for i := range p.Tags {
		change(&p.Tags[i].LastWanted)
	}
	for i := range p.Manifests {
		change(&p.Manifests[i].LastWanted)
	}
	for i := range p.Kept {
		change(&p.Kept[i].LastWanted)
	}
}

// Write writes the plan as JSON. Its keys are those of earlier versions, which refuse others.
func (p *DeletionPlan) Write(w io.Writer) error {
	file := *p
	file.Tags, file.Manifests, file.Kept = slices.Clone(p.Tags), slices.Clone(p.Manifests), slices.Clone(p.Kept)
	file.Revisions, file.Turns = nil, p.Revisions
	file.eachRevision(func(r *Revision) { *r = Revision{ImageSet: r.ImageSet, Turn: r.Number} })
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(&file); err != nil {
		return err
	}
	return out.Flush()
}

// Read reads a plan, of at most 256 MiB. Unknown fields and malformed names are errors.
func Read(r io.Reader) (*DeletionPlan, error) {
	limited := &io.LimitedReader{R: r, N: maxDocument + 1}
	dec := json.NewDecoder(limited)
	dec.DisallowUnknownFields()
	p := &DeletionPlan{}
	err := dec.Decode(p)
	switch {
	case limited.N <= 0:
		return nil, advice.New(advice.Input, "", "it has more than %d bytes", maxDocument)
	case err != nil:
		return nil, advice.New(advice.Input, "", "it is not a deletion plan: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, advice.New(advice.Input, "", "more text follows the deletion plan")
	}
	if p.Revisions == nil {
		p.Revisions = p.Turns
	}
	p.Turns = nil
	p.eachRevision(func(r *Revision) { r.Number, r.Turn = cmp.Or(r.Number, r.Turn), 0 })
	if err := p.check(); err != nil {
		return nil, advice.Wrap(advice.Input, err, "make it again with gantry prune")
	}
	return p, nil
}

func (p *DeletionPlan) check() error {
	switch {
	case p.Kind != Kind:
		return fmt.Errorf("its kind is %.40q and not %s", p.Kind, Kind)
	case p.Version != Version:
		return fmt.Errorf("it has version %d, and this program knows version %d", p.Version, Version)
	}
	for i := range p.Manifests {
		m := &p.Manifests[i]
		if !reference.IsPath(m.Repository) || m.Digest.Validate() != nil || m.Bytes < 0 || i > 0 && compareManifests(p.Manifests[i-1], *m) >= 0 {
			return fmt.Errorf("manifest %d (%.100q) is malformed or not in order", i+1, m.Repository+"@"+string(m.Digest))
		}
	}
	for i, t := range p.Tags {
		if !reference.IsPath(t.Repository) || !reference.IsTag(t.Tag) || t.Digest.Validate() != nil {
			return fmt.Errorf("tag %d (%.100q) is malformed", i+1, t.Repository+":"+t.Tag)
		}
	}
	for i, l := range p.Lists {
		if !reference.IsPath(l.Repository) || l.Subject.Validate() != nil || slices.ContainsFunc(l.Remove, func(d digest.Digest) bool { return d.Validate() != nil }) {
			return fmt.Errorf("list of referrers %d is malformed", i+1)
		}
	}
	for _, t := range p.Revisions {
		if !reference.IsTag(t) {
			return fmt.Errorf("the tag %.100q of a record is malformed", t)
		}
	}
	return nil
}

// Only returns what both plans delete. The result has the records and what is kept of p.
func (p *DeletionPlan) Only(other *DeletionPlan) *DeletionPlan {
	type at struct {
		repository string
		digest     digest.Digest
		tag        string
	}
	has := map[at]bool{}
	for i := range other.Manifests {
		m := &other.Manifests[i]
		has[at{m.Repository, m.Digest, ""}] = true
	}
	for _, t := range other.Tags {
		has[at{t.Repository, t.Digest, t.Tag}] = true
	}
	q := *p
	q.Tags, q.Manifests, q.Lists, q.Revisions = nil, nil, nil, nil
	for _, t := range p.Tags {
		if has[at{t.Repository, t.Digest, t.Tag}] {
			q.Tags = append(q.Tags, t)
		}
	}
	for i := range p.Manifests {
		if m := &p.Manifests[i]; has[at{m.Repository, m.Digest, ""}] {
			q.Manifests = append(q.Manifests, *m)
		}
	}
	for _, l := range p.Lists {
		l.Remove = slices.DeleteFunc(slices.Clone(l.Remove), func(d digest.Digest) bool { return !has[at{l.Repository, d, ""}] })
		if len(l.Remove) > 0 {
			q.Lists = append(q.Lists, l)
		}
	}
	if len(q.Manifests) == len(p.Manifests) && len(q.Tags) == len(p.Tags) {
		q.Revisions = p.Revisions // otherwise, they show what is left
	}
	q.count()
	return &q
}

// Keep adds content that stays although no image set needs it.
func (p *DeletionPlan) Keep(kept ...Kept) {
	p.Kept = append(p.Kept, kept...)
	p.sort()
}

// KeepTags keeps the tags whose manifests stay, for a reason.
func (p *DeletionPlan) KeepTags(reason string) {
	for _, t := range p.Tags {
		p.Kept = append(p.Kept, Kept{Repository: t.Repository, Digest: t.Digest, Tag: t.Tag, Reason: reason, LastWanted: t.LastWanted})
	}
	p.Tags = nil
	p.sort()
}

// Remains returns a function that reports whether a manifest that no revision needs is still in the mirror after
// Execute. p is the plan that was executed, and all the one that Make returned.
func (p *DeletionPlan) Remains(all *DeletionPlan, report *Report) func(reference.Reference) bool {
	type at struct {
		repository string
		digest     digest.Digest
	}
	there := map[at]bool{}
	for i := range all.Manifests {
		there[at{all.Manifests[i].Repository, all.Manifests[i].Digest}] = true
	}
	for i := range p.Manifests {
		delete(there, at{p.Manifests[i].Repository, p.Manifests[i].Digest})
	}
	for _, k := range all.Kept {
		there[at{k.Repository, k.Digest}] = true
	}
	for _, f := range report.Failed {
		there[at{f.Repository, f.Digest}] = true
	}
	return func(ref reference.Reference) bool {
		return there[at{ref.Path, ref.Digest}] || there[at{ref.Path, ""}]
	}
}
