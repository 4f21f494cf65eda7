package archive

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/opencontainers/go-digest"
)

// Size is how many bytes Verify reads: all volumes of all sets that are here.
func (a *Archive) Size() int64 {
	var n int64
	for _, m := range a.members {
		for i := range m.media {
			n += m.set.Volumes[i].Size * int64(max(1, len(m.media[i].files)))
		}
	}
	return n
}

// A visit is one file that is read from its beginning to its end, in the place of
// a volume.
type visit struct {
	member *member
	number int   // of the volume, from 0 on
	file   *file // nil where there is none
	found  []finding
}

// A finding is what is wrong in a file, and the entries that it spoils.
type finding struct {
	Damage
	volume  bool // it is the volume as a whole
	entries []*entry
}

// Verify reads every byte of the volumes once: those on one medium in their order,
// and several media at the same time. What is not as it was written is collected in
// a *DamageError, where content is sound elsewhere as Healed. progress, where it is
// not nil, is told how many bytes were read since it was called last, by one
// goroutine at a time. A set that is built on and not here is no damage.
func (a *Archive) Verify(ctx context.Context, progress func(n int64)) error {
	visits, media := a.visits()
	var wg sync.WaitGroup
	var mu sync.Mutex
	tell := func(n int64) {
		if progress != nil {
			mu.Lock()
			defer mu.Unlock()
			progress(n)
		}
	}
	for _, medium := range media {
		wg.Go(func() {
			r := newReading(tell)
			for _, v := range medium {
				if ctx.Err() == nil {
					a.visit(ctx, r, v)
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if damage := append(a.judge(visits), a.spoilt...); len(damage) > 0 {
		return &DamageError{Dir: a.dir(), Damage: damage}
	}
	return a.verifyPlan(ctx)
}

// visits are all files that are read, and the same by the medium they lie on.
func (a *Archive) visits() (all []*visit, media map[uint64][]*visit) {
	media = map[uint64][]*visit{}
	for _, m := range a.members {
		for i := range m.media {
			files := m.media[i].files
			if len(files) == 0 {
				all = append(all, &visit{member: m, number: i})
				media[0] = append(media[0], all[len(all)-1])
			}
			for j := range files {
				v := &visit{member: m, number: i, file: &files[j]}
				all = append(all, v)
				media[files[j].device] = append(media[files[j].device], v)
			}
		}
	}
	return all, media
}

// visit reads a file and notes what is wrong with it.
func (a *Archive) visit(ctx context.Context, r *reading, at *visit) {
	v, medium := &at.member.outer.Volumes[at.number], &at.member.media[at.number]
	c := &comparison{volume: v}
	if at.file == nil {
		c.rest("")
		r.tell(v.Size)
	} else {
		r.read(ctx, at.file, c)
	}
	at.found = c.found
	if medium.problem != "" {
		// Its parts are not told one by one, since it is another file, or no longer
		// has them.
		whole := finding{Damage: a.damage(slices.Index(a.members, at.member), at.number), volume: true}
		for _, f := range c.found {
			whole.entries = append(whole.entries, f.entries...)
		}
		at.found = []finding{whole}
	}
	for i := range at.found {
		at.found[i].entries = at.member.inside(at.number, at.found[i].entries)
		d := &at.found[i].Damage
		if d.File = v.Name; at.file != nil && (len(medium.files) > 1 || at.file.name != v.Name) {
			d.Problem += " (in " + printable(a.path(at.file)) + ")"
		}
	}
}

// printable is a path of a medium that may come from anybody, for a terminal.
func printable(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// judge finds out what is lost of what was found damaged, and what is sound in
// another place.
func (a *Archive) judge(visits []*visit) []Damage {
	type spot struct {
		entry *entry
		file  *file
	}
	bad := map[spot]bool{}
	for _, v := range visits {
		for _, f := range v.found {
			for _, e := range f.entries {
				bad[spot{e, v.file}] = true
			}
		}
	}
	sound := func(p piece) bool { return !bad[spot{p.entry, p.file}] }
	var damage []Damage
	for _, v := range visits {
		for _, f := range v.found {
			read, gone := 0, 0 // of what is read from the entries
			for _, e := range f.entries {
				switch {
				case e.Path != "" && e.Path != planPath:
					if !f.volume {
						gone++
					}
					continue
				case !a.holds(v.member.set, e, sound):
					gone++
					f.Lost = append(f.Lost, e.content()...)
				}
				read++
			}
			f.Healed = read > 0 && gone == 0
			slices.Sort(f.Lost)
			f.Lost = slices.Compact(f.Lost)
			damage = append(damage, f.Damage)
		}
	}
	return damage
}

// Lost are the manifests and blobs that cannot be read, each once, in order.
func (e *DamageError) Lost() []digest.Digest {
	var lost []digest.Digest
	for _, d := range e.Damage {
		lost = append(lost, d.Lost...)
	}
	slices.Sort(lost)
	return slices.Compact(lost)
}

// Healed reports whether all that is damaged is sound elsewhere.
func (e *DamageError) Healed() bool {
	return !slices.ContainsFunc(e.Damage, func(d Damage) bool { return !d.Healed })
}
