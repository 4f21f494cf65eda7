package archive

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/archive/parity"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// A parityCheck is a parity file of an opened set.
type parityCheck struct {
	member *member
	dir    int
	name   string
}

// parityChecks returns the parity files of the opened sets.
func (a *Archive) parityChecks() (all []parityCheck) {
	for _, m := range a.members {
		for dir := range a.folders {
			for _, name := range a.parityNames(m, dir) {
				all = append(all, parityCheck{m, dir, name})
			}
		}
	}
	return all
}

// verifyParity reads the parity files and returns what is damaged. No content is lost with it.
func (a *Archive) verifyParity(ctx context.Context, progress func(n int64)) (damage []Damage) {
	for _, c := range a.parityChecks() {
		f, info, err := regular.Open(a.folders[c.dir], c.name)
		if err == nil {
			err = parity.Check(ctx, parityLayout(c.member.outer, c.member.digest), f, info.Size(), progress)
			_ = f.Close() // only read from
		}
		if ctx.Err() != nil {
			return damage
		}
		if err != nil {
			d := Damage{File: c.name, Problem: err.Error()}
			if len(a.folders) > 1 {
				d.Problem += " (in " + printable(a.dirs[c.dir]) + ")"
			}
			damage = append(damage, d)
		}
	}
	return damage
}
