package carry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/plan"
)

// A Condition is what damage costs that was found in an archive, and what of it is not
// here.
type Condition struct {
	// Images is how many images the archive should hold and Broken which of them
	// it does not, by their sources, both unknown where PlanLost.
	Images   int      `json:"images"`
	Broken   []string `json:"broken"`
	PlanLost bool     `json:"planLost,omitempty"`
	// Encrypted says that the archive is, and Locked that it was read without an
	// identity: then its images are not known.
	Encrypted bool         `json:"encrypted,omitempty"`
	Locked    bool         `json:"locked,omitempty"`
	Damage    []DamageCost `json:"damage"`
	// Earlier is the content of images that the archive leaves out since the sets
	// that it builds on have it, which are not here; nil where there is none.
	Earlier *Earlier `json:"earlier,omitempty"`
	// Unread are the sequences of sets that lie in the folders too and were not read,
	// since the newest does not build on them, as far as the sets between are here.
	Unread []int `json:"unread,omitempty"`
}

// Earlier is content in sets that were carried before.
type Earlier struct {
	Sequences []int `json:"sequences"`
	Content   int   `json:"content"` // manifests and blobs
	Bytes     int64 `json:"bytes"`
	// Plan says that the plan is there, too, so that the images are not known.
	Plan bool `json:"plan,omitempty"`
}

// DamageCost is a damage and the images that it breaks, by their sources.
type DamageCost struct {
	File    string `json:"file"`
	Entry   string `json:"entry,omitempty"`
	Offset  int64  `json:"offset,omitempty"`
	Problem string `json:"problem"`
	// Healed says that nothing is lost: all that the place holds is sound elsewhere.
	Healed bool     `json:"healed,omitempty"`
	Breaks []string `json:"breaks,omitempty"`
	// Text is the damage in a line.
	Text string `json:"-"`
}

// Assess finds what the damage of an archive costs, which Verify found. dirs are the
// folders that it was opened with.
func Assess(ctx context.Context, have *archive.Archive, dirs []string, damage []archive.Damage) (*Condition, error) {
	c := &Condition{Broken: []string{}, Damage: []DamageCost{}, Earlier: EarlierThan(have)}
	var err error
	if c.Unread, err = unread(have, dirs); err != nil {
		return nil, err
	}
	newest := have.Newest()
	c.Encrypted, c.Locked = newest.Encrypted, newest.Locked
	p, err := ReadPlan(ctx, have)
	var planDamage *archive.DamageError
	switch {
	case c.Locked:
		c.Earlier = nil // the site's images are not known either
	case errors.As(err, &planDamage) && len(damage) > 0:
		c.PlanLost = true
	case errors.Is(err, fs.ErrNotExist) && c.Earlier != nil:
		c.Earlier.Plan = true
	case err != nil:
		return nil, fmt.Errorf("archive in %s: %w", strings.Join(dirs, ", "), err)
	default:
		c.Images = len(p.Images)
		damage = slices.Concat(damage, c.leftOut(have, p))
	}
	return c, c.enter(damage, p)
}

// EarlierThan is what an archive says of sets that it builds on and that are not here;
// nil where there are none.
func EarlierThan(have *archive.Archive) *Earlier {
	var e Earlier
	for _, s := range have.Sets() {
		if s.Dir == "" {
			e.Sequences = append(e.Sequences, s.Sequence)
		}
	}
	if e.Sequences == nil {
		return nil
	}
	slices.Sort(e.Sequences)
	return &e
}

// unread are the sequences in the folders that are not of the archive.
func unread(have *archive.Archive, dirs []string) ([]int, error) {
	all, err := archive.Sequences(dirs...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(n int) bool {
		return slices.ContainsFunc(have.Sets(), func(s archive.SetInfo) bool { return s.Sequence == n })
	}), nil
}

// Whole reports whether everything can be read.
func (c *Condition) Whole() bool {
	return !slices.ContainsFunc(c.Damage, func(d DamageCost) bool { return !d.Healed })
}

// leftOut is what the plan has and no set does: that is lost, too, unless it can be in
// one that was carried before.
func (c *Condition) leftOut(have *archive.Archive, p *plan.Plan) []archive.Damage {
	var damage []archive.Damage
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

// enter fills in what is damaged and what that breaks; p is nil where it is not known.
func (c *Condition) enter(damage []archive.Damage, p *plan.Plan) error {
	var holders map[digest.Digest][]*plan.Image
	if p != nil {
		var lost []digest.Digest
		for _, d := range damage {
			lost = append(lost, d.Lost...)
		}
		var err error
		if holders, err = mirror.Holders(p, lost); err != nil {
			return err
		}
	}
	for _, d := range damage {
		cost := DamageCost{File: d.File, Entry: d.Entry, Offset: d.Offset, Problem: d.Problem, Healed: d.Healed, Text: d.String()}
		var broken []*plan.Image
		for _, lost := range d.Lost {
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
