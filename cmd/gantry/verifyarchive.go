package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
	"github.com/gantry-mirror/gantry/plan"
)

// verifiedArchive is what gantry verify --output json prints of an archive.
type verifiedArchive struct {
	Version int    `json:"version"`
	Archive string `json:"archive"`
	// Signature is who signed it; nil where nobody did.
	Signature *sshsig.Verdict `json:"signature,omitempty"`
	// Bytes is the size of all volumes together.
	Bytes int64 `json:"bytes"`
	// Images is how many images the archive should hold and Broken which of them
	// it does not, both unknown where PlanLost.
	Images   int      `json:"images"`
	Broken   []string `json:"broken"`
	PlanLost bool     `json:"planLost,omitempty"`
	// Encrypted says that the archive is, and Locked that it was read without an
	// identity: then its images are not known.
	Encrypted bool            `json:"encrypted,omitempty"`
	Locked    bool            `json:"locked,omitempty"`
	Damage    []damageAndCost `json:"damage"`
	// Earlier is the content of images that the archive leaves out since the sets
	// that it builds on have it, which are not here; nil where there is none.
	Earlier *earlierContent `json:"earlier,omitempty"`
	// Unread are the sequences of sets that lie in the folders too and were not read,
	// since the newest does not build on them, as far as the sets between are here.
	Unread []int `json:"unread,omitempty"`
}

// earlierContent is content in sets that were carried before.
type earlierContent struct {
	Sequences []int `json:"sequences"`
	Content   int   `json:"content"` // manifests and blobs
	Bytes     int64 `json:"bytes"`
	// Plan says that the plan is there, too, so that the images are not known.
	Plan bool `json:"plan,omitempty"`
}

// damageAndCost is a damage and the images that it breaks, by their sources.
type damageAndCost struct {
	File    string `json:"file"`
	Entry   string `json:"entry,omitempty"`
	Offset  int64  `json:"offset,omitempty"`
	Problem string `json:"problem"`
	// Healed says that nothing is lost: all that the place holds is sound elsewhere.
	Healed bool     `json:"healed,omitempty"`
	Breaks []string `json:"breaks,omitempty"`

	text string
}

func (a *app) verifyArchive(ctx context.Context, dirs []string, trust *trustFlags) error {
	have, err := a.inspectArchive(trust, dirs...)
	if err != nil {
		return err
	}
	defer func() { _ = have.Close() }() // only read from
	var done atomic.Int64
	stop := a.show("checking", func() progress.Reading {
		return progress.Reading{Total: have.Size(), Done: done.Load(), Moved: done.Load()}
	})
	err = have.Verify(ctx, func(n int64) { done.Add(n) })
	stop()
	damage := &archive.DamageError{}
	if err != nil && !errors.As(err, &damage) {
		return err
	}
	where := fileScheme + strings.Join(dirs, ", "+fileScheme)
	result := &verifiedArchive{Version: 1, Archive: where, Signature: signatureOf(have), Bytes: have.Size(), Broken: []string{}, Damage: []damageAndCost{}}
	result.Earlier = earlier(have)
	if result.Unread, err = unread(have, dirs); err != nil {
		return err
	}
	newest := have.Newest()
	result.Encrypted, result.Locked = newest.Encrypted, newest.Locked
	p, err := carry.ReadPlan(ctx, have)
	var planDamage *archive.DamageError
	switch {
	case result.Locked:
		result.Earlier = nil // the site's images are not known either
	case errors.As(err, &planDamage) && len(damage.Damage) > 0:
		result.PlanLost = true
	case errors.Is(err, fs.ErrNotExist) && result.Earlier != nil:
		result.Earlier.Plan = true
	case err != nil:
		return fmt.Errorf("archive in %s: %w", strings.Join(dirs, ", "), err)
	default:
		result.Images = len(p.Images)
	}
	if err := result.enter(damage.Damage, p, have); err != nil {
		return err
	}
	if a.output == outputJSON {
		err = a.encode(result)
	} else {
		err = a.text(result.table())
	}
	if err == nil && !result.whole() {
		err = &hintError{&mismatchError{fmt.Sprintf("the archive in %s is damaged", strings.Join(dirs, ", "))}, ": ", "bring the files that are named again, or ask for what is lost with gantry archive repair-request"}
	}
	return err
}

// earlier is what an archive says of sets that it builds on and that are not here;
// nil where there are none.
func earlier(have *archive.Archive) *earlierContent {
	var e earlierContent
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

// whole reports whether everything can be read.
func (r *verifiedArchive) whole() bool {
	return !slices.ContainsFunc(r.Damage, func(d damageAndCost) bool { return !d.Healed })
}

// enter fills in what is damaged and what that breaks; p is nil where it is
// lost.
func (r *verifiedArchive) enter(damage []archive.Damage, p *plan.Plan, have *archive.Archive) error {
	var holders map[digest.Digest][]*plan.Image
	if p != nil {
		// What the plan has and no set does is lost, too, unless it can be in one that
		// was carried before.
		for desc := range mirror.Content(p) {
			switch {
			case have.Has(desc):
			case r.Earlier != nil:
				r.Earlier.Content++
				r.Earlier.Bytes += desc.Size
			default:
				damage = append(damage, archive.Damage{File: "set manifest", Problem: fmt.Sprintf("it has no %s, which the plan has", desc.Digest), Lost: []digest.Digest{desc.Digest}})
			}
		}
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
		entry := damageAndCost{File: d.File, Entry: d.Entry, Offset: d.Offset, Problem: d.Problem, Healed: d.Healed, text: d.String()}
		for _, lost := range d.Lost {
			for _, img := range holders[lost] {
				entry.Breaks = append(entry.Breaks, img.Source)
			}
		}
		slices.Sort(entry.Breaks)
		entry.Breaks = slices.Compact(entry.Breaks)
		r.Broken = append(r.Broken, entry.Breaks...)
		r.Damage = append(r.Damage, entry)
	}
	slices.Sort(r.Broken)
	r.Broken = slices.Compact(r.Broken)
	return nil
}

func (r *verifiedArchive) table() string {
	var b strings.Builder
	if r.Signature != nil {
		text := signedText(*r.Signature)
		b.WriteString(strings.ToUpper(text[:1]) + text[1:] + ".\n")
	}
	if len(r.Damage) == 0 {
		images := fmt.Sprintf("%d images, ", r.Images)
		if r.Earlier != nil && r.Earlier.Plan || r.Locked {
			images = ""
		}
		fmt.Fprintf(&b, "The archive in %s is whole: %s%s, every byte as it was written.\n", r.Archive, images, progress.Bytes(r.Bytes))
		if r.Locked {
			b.WriteString("It is encrypted: what it holds is not known without --identity.\n")
		}
		r.writeRest(&b)
		return b.String()
	}
	fmt.Fprintf(&b, "Damaged in %s\n", r.Archive)
	for _, d := range r.Damage {
		b.WriteString("  " + d.text)
		if d.Healed && !r.whole() {
			b.WriteString(" (it is sound elsewhere)")
		}
		b.WriteString("\n")
		if len(d.Breaks) > 0 {
			b.WriteString("    breaks\n")
			var names strings.Builder
			list(&names, d.Breaks)
			b.WriteString(strings.ReplaceAll("    "+strings.TrimSuffix(names.String(), "\n"), "\n", "\n    ") + "\n")
		}
	}
	switch {
	case r.whole():
		b.WriteString("Nothing is lost: what is damaged is sound in a repair or another copy.\n")
	case r.Locked:
		b.WriteString("It is encrypted: which images that breaks is not known without --identity.\n")
	case r.PlanLost:
		b.WriteString("Which images that breaks is not known, since the plan in the archive is lost, too.\n")
	case r.Earlier != nil && r.Earlier.Plan:
		b.WriteString("Which images that breaks is not known here, since an archive that was carried before has the plan.\n")
	default:
		fmt.Fprintf(&b, "%d of %d images are broken.\n", len(r.Broken), r.Images)
	}
	r.writeRest(&b)
	return b.String()
}

// writeRest says what was not read: sets that are not here, and those that are of no use.
func (r *verifiedArchive) writeRest(b *strings.Builder) {
	b.WriteString(r.Earlier.text())
	if len(r.Unread) == 0 {
		return
	}
	var names []string
	for _, n := range r.Unread {
		names = append(names, strconv.Itoa(n))
	}
	fmt.Fprintf(b, "Not read: sequence %s, which is here but not among what the newest builds on, as far as the archives between them are here.\n", strings.Join(names, ", "))
}

// text says what is in sets that are not here.
func (e *earlierContent) text() string {
	if e == nil {
		return ""
	}
	var names []string
	for _, n := range e.Sequences {
		names = append(names, strconv.Itoa(n))
	}
	what := "what it leaves out, its plan included, is theirs"
	if !e.Plan {
		what = fmt.Sprintf("%d blobs and manifests (%s) of its images are theirs", e.Content, progress.Bytes(e.Bytes))
	}
	return fmt.Sprintf("It builds on sequence %s, carried before and not here: %s.\n", strings.Join(names, ", "), what)
}
