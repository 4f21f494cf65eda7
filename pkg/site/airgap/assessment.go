package airgap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// An Assessment is what the damage of an archive breaks, and what content is in other archives.
type Assessment struct {
	// Images is the number of images of the archive. Broken are the sources of those that are
	// incomplete. Both are unknown if PlanLost is set.
	Images   int      `json:"images"`
	Broken   []string `json:"broken"`
	PlanLost bool     `json:"planLost,omitempty"`
	// Encrypted reports whether the archive is encrypted. NeedsIdentity reports whether it was read
	// without an identity, so that its images are not known.
	Encrypted     bool           `json:"encrypted,omitempty"`
	NeedsIdentity bool           `json:"locked,omitempty"`
	Damage        []DamageImpact `json:"damage"`
	// Earlier is the content that the archive leaves out because it is in sets that it builds on
	// and that are not available. It is nil if there is none.
	Earlier *EarlierSets `json:"earlier,omitempty"`
	// Unread are the sequences of other sets in the folders. They were not read, because the newest
	// set does not build on them as far as the opened sets show.
	Unread []int `json:"unread,omitempty"`
}

// EarlierSets is content in earlier sets.
type EarlierSets struct {
	Sequences []int `json:"sequences"`
	Content   int   `json:"content"` // manifests and blobs
	Bytes     int64 `json:"bytes"`
	// Bases is how many blobs deltas of the archive are based on that are in none of the folders, and BaseBytes
	// is their size.
	Bases     int   `json:"bases,omitempty"`
	BaseBytes int64 `json:"baseBytes,omitempty"`
	// Plan reports whether the plan is in an earlier set too, so that the images are not known.
	Plan bool `json:"plan,omitempty"`
}

// DamageImpact is a damage and the sources of the images that it breaks.
type DamageImpact struct {
	File    string `json:"file"`
	Entry   string `json:"entry,omitempty"`
	Offset  int64  `json:"offset,omitempty"`
	Problem string `json:"problem"`
	// Recoverable reports whether nothing is lost, because intact copies exist elsewhere.
	Recoverable bool     `json:"healed,omitempty"`
	Breaks      []string `json:"breaks,omitempty"`
	// Text is the damage in one line.
	Text string `json:"-"`
}

// Assess finds what the damage of an archive breaks. damage is what Verify found, and dirs are the
// folders that the archive was opened with.
func Assess(ctx context.Context, have *archive.Archive, dirs []string, damage []archive.Damage) (*Assessment, error) {
	c := &Assessment{Broken: []string{}, Damage: []DamageImpact{}, Earlier: MissingEarlierSets(have)}
	var err error
	if c.Unread, err = unreadSequences(have, dirs); err != nil {
		return nil, err
	}
	newest := have.Selected()
	c.Encrypted, c.NeedsIdentity = newest.Encrypted, newest.NeedsIdentity
	p, err := ReadPlan(ctx, have)
	var planDamage *archive.DamageError
	switch {
	case c.NeedsIdentity:
		c.Earlier = nil // the images are not known either
	case errors.As(err, &planDamage) && len(damage) > 0:
		c.PlanLost = true
	case errors.Is(err, fs.ErrNotExist) && c.Earlier != nil:
		c.Earlier.Plan = true
	case err != nil:
		return nil, fmt.Errorf("archive in %s: %w", strings.Join(dirs, ", "), err)
	default:
		c.Images = len(p.Images)
		damage = slices.Concat(damage, c.missingFromSets(have, p))
	}
	return c, c.addDamage(damage, p)
}

// MissingEarlierSets returns the sets that an archive builds on and that are not available, or nil if
// there are none.
func MissingEarlierSets(have *archive.Archive) *EarlierSets {
	var e EarlierSets
	for _, s := range absentSets(have) {
		e.Sequences = append(e.Sequences, s.Sequence)
	}
	if e.Sequences == nil {
		return nil
	}
	return &e
}

// unreadSequences returns the sequences in the folders that do not belong to the archive.
func unreadSequences(have *archive.Archive, dirs []string) ([]int, error) {
	all, err := archive.Sequences(dirs...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(n int) bool {
		return slices.ContainsFunc(have.Sets(), func(s archive.SetInfo) bool { return s.Sequence == n })
	}), nil
}

// Intact reports whether everything can be read.
func (c *Assessment) Intact() bool {
	return !slices.ContainsFunc(c.Damage, func(d DamageImpact) bool { return !d.Recoverable })
}

// missingFromSets returns content of the plan that no set has. It is lost, unless it can be in an
// earlier set.
func (c *Assessment) missingFromSets(have *archive.Archive, p *plan.Plan) []archive.Damage {
	var damage []archive.Damage
	if c.Earlier != nil {
		for _, b := range neededBases(have, p) {
			c.Earlier.Bases++
			c.Earlier.BaseBytes += b.Size
		}
	}
	for desc := range mirror.Content(p) {
		switch {
		case have.Has(desc):
		case c.Earlier != nil:
			c.Earlier.Content++
			c.Earlier.Bytes += desc.Size
		default:
			damage = append(damage, archive.Damage{File: "set manifest", Problem: fmt.Sprintf("it has no %s, which the plan has", desc.Digest), Lost: []digest.Digest{desc.Digest}})
		}
	}
	return damage
}

// addDamage adds what is damaged and what that breaks. p is nil if the plan is not known.
func (c *Assessment) addDamage(damage []archive.Damage, p *plan.Plan) error {
	var holders map[digest.Digest][]*plan.Image
	if p != nil {
		var lost []digest.Digest
		for _, d := range damage {
			lost = slices.Concat(lost, d.Lost, d.Dependents)
		}
		var err error
		if holders, err = mirror.ImagesByContent(p, lost); err != nil {
			return err
		}
	}
	for _, d := range damage {
		cost := DamageImpact{File: d.File, Entry: d.Entry, Offset: d.Offset, Problem: d.Problem, Recoverable: d.Recoverable, Text: d.String()}
		var broken []*plan.Image
		for _, lost := range slices.Concat(d.Lost, d.Dependents) {
			broken = append(broken, holders[lost]...)
		}
		cost.Breaks = sourcesOf(broken)
		c.Broken = append(c.Broken, cost.Breaks...)
		c.Damage = append(c.Damage, cost)
	}
	slices.Sort(c.Broken)
	c.Broken = slices.Compact(c.Broken)
	return nil
}
