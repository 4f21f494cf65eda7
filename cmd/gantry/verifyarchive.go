package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
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
	Images   int             `json:"images"`
	Broken   []string        `json:"broken"`
	PlanLost bool            `json:"planLost,omitempty"`
	Damage   []damageAndCost `json:"damage"`
}

// damageAndCost is a damage and the images that it breaks, by their sources.
type damageAndCost struct {
	File    string   `json:"file"`
	Entry   string   `json:"entry,omitempty"`
	Offset  int64    `json:"offset,omitempty"`
	Problem string   `json:"problem"`
	Breaks  []string `json:"breaks,omitempty"`

	text string
}

func (a *app) verifyArchive(ctx context.Context, dir string, trust *trustFlags) error {
	have, err := a.inspectArchive(dir, trust)
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
	var damage *archive.DamageError
	if err != nil && !errors.As(err, &damage) {
		return err
	}
	result := &verifiedArchive{Version: 1, Archive: fileScheme + dir, Signature: signatureOf(have), Bytes: have.Size(), Broken: []string{}, Damage: []damageAndCost{}}
	if damage == nil {
		damage = &archive.DamageError{Dir: dir}
	}
	p, err := archivePlan(ctx, have)
	var planDamage *archive.DamageError
	switch {
	case errors.As(err, &planDamage) && len(damage.Damage) > 0:
		result.PlanLost = true
	case err != nil:
		return fmt.Errorf("archive in %s: %w", dir, err)
	default:
		result.Images = len(p.Images)
	}
	if err := result.enter(damage.Damage, p, have); err != nil {
		return err
	}
	if a.output == outputJSON {
		err = a.encode(result)
	} else {
		_, err = fmt.Fprint(a.stdout, result.table())
	}
	if err == nil && len(result.Damage) > 0 {
		err = &hintError{&mismatchError{fmt.Sprintf("the archive in %s is damaged", dir)}, ": ", "bring the files that are named again"}
	}
	return err
}

// enter fills in what is damaged and what that breaks; p is nil where it is
// lost.
func (r *verifiedArchive) enter(damage []archive.Damage, p *plan.Plan, have *archive.Archive) error {
	var holders map[digest.Digest][]*plan.Image
	if p != nil {
		// What the plan has and the set manifest does not is lost, too.
		for _, desc := range mirror.Content(p) {
			if !have.Has(desc) {
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
		entry := damageAndCost{File: d.File, Entry: d.Entry, Offset: d.Offset, Problem: d.Problem, text: d.String()}
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
		fmt.Fprintf(&b, "The archive in %s is whole: %d images, %s, every byte as it was written.\n", r.Archive, r.Images, progress.Bytes(r.Bytes))
		return b.String()
	}
	fmt.Fprintf(&b, "Damaged in %s\n", r.Archive)
	for _, d := range r.Damage {
		fmt.Fprintf(&b, "  %s\n", d.text)
		if len(d.Breaks) > 0 {
			b.WriteString("    breaks\n")
			var names strings.Builder
			list(&names, d.Breaks)
			b.WriteString(strings.ReplaceAll("    "+strings.TrimSuffix(names.String(), "\n"), "\n", "\n    ") + "\n")
		}
	}
	if r.PlanLost {
		b.WriteString("Which images that breaks is not known, since the plan in the archive is lost, too.\n")
	} else {
		fmt.Fprintf(&b, "%d of %d images are broken.\n", len(r.Broken), r.Images)
	}
	return b.String()
}
