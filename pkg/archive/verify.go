package archive

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Size returns how many bytes Verify reads: all volumes and parity files of all opened sets.
func (a *Archive) Size() int64 {
	var n int64
	for _, m := range a.members {
		for i := range m.volumes {
			n += m.set.Volumes[i].Size * int64(max(1, len(m.volumes[i].files)))
		}
	}
	for _, c := range a.parityChecks() {
		if l := parityLayout(c.member.outer, c.member.digest); l.Check(1) == nil {
			n += l.FileSize()
		}
	}
	return n
}

// A fileCheck is one file that is read from beginning to end, for a volume.
type fileCheck struct {
	member   *member
	number   int   // of the volume, from 0 on
	file     *file // nil if the volume is missing
	findings []finding
}

// A finding is a problem in a file, and the entries that it affects.
type finding struct {
	Damage
	volume  bool // it is the volume as a whole
	entries []*entry
}

// Verify reads every byte of the volumes once, and then of the parity files: those on one disk in their order, and several disks
// concurrently. All damage is returned in one *DamageError; damage is Recoverable if intact copies
// exist. Signatures of the sets that the newest builds on are checked too, although the newest covers
// these sets: an altered signature is damage. progress, if not nil, is called with the number of bytes read since the last call, by one
// goroutine at a time. A set that it builds on and that is not available is not damage.
func (a *Archive) Verify(ctx context.Context, progress func(n int64)) error {
	visits, devices := a.fileChecks()
	var wg sync.WaitGroup
	var mu sync.Mutex
	report := func(n int64) {
		if progress != nil {
			mu.Lock()
			defer mu.Unlock()
			progress(n)
		}
	}
	for _, files := range devices {
		wg.Go(func() {
			r := newFileReader(report)
			for _, v := range files {
				if ctx.Err() == nil {
					a.checkFile(ctx, r, v)
				}
			}
		})
	}
	wg.Wait()
	parity := a.verifyParity(ctx, report)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if damage := slices.Concat(a.assess(visits), parity, a.manifestDamage, a.signatureDamage()); len(damage) > 0 {
		return &DamageError{Dir: a.dirNames(), Damage: damage, Rebuild: a.RebuildHint(damage)}
	}
	return a.verifyPlan(ctx)
}

// fileChecks returns all files to read, and the same by device.
func (a *Archive) fileChecks() (all []*fileCheck, devices map[uint64][]*fileCheck) {
	devices = map[uint64][]*fileCheck{}
	for _, m := range a.members {
		for i := range m.volumes {
			files := m.volumes[i].files
			if len(files) == 0 {
				all = append(all, &fileCheck{member: m, number: i})
				devices[0] = append(devices[0], all[len(all)-1])
			}
			for j := range files {
				v := &fileCheck{member: m, number: i, file: &files[j]}
				all = append(all, v)
				devices[files[j].device] = append(devices[files[j].device], v)
			}
		}
	}
	return all, devices
}

// checkFile reads a file and records what is wrong with it.
func (a *Archive) checkFile(ctx context.Context, r *fileReader, at *fileCheck) {
	v, found := &at.member.outer.Volumes[at.number], &at.member.volumes[at.number]
	c := &volumeChecker{volume: v}
	if at.file == nil {
		c.failRest("")
		r.progress(v.Size)
	} else {
		r.read(ctx, at.file, c)
	}
	at.findings = c.findings
	if found.problem != "" {
		// The entries are not listed one by one, since it is another file, or no longer has them.
		whole := finding{Damage: a.volumeProblem(slices.Index(a.members, at.member), at.number), volume: true}
		for _, f := range c.findings {
			whole.entries = append(whole.entries, f.entries...)
		}
		at.findings = []finding{whole}
	}
	for i := range at.findings {
		at.findings[i].entries = at.member.innerEntries(at.number, at.findings[i].entries)
		d := &at.findings[i].Damage
		if d.File = v.Name; at.file != nil && (len(found.files) > 1 || at.file.name != v.Name) {
			d.Problem += " (in " + printable(a.filePath(at.file)) + ")"
		}
	}
}

// printable makes an untrusted path printable on a terminal.
func printable(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// assess finds which damaged content is lost, and which has intact copies.
func (a *Archive) assess(visits []*fileCheck) []Damage {
	type position struct {
		entry *entry
		file  *file
	}
	bad := map[position]bool{}
	for _, v := range visits {
		for _, f := range v.findings {
			for _, e := range f.entries {
				bad[position{e, v.file}] = true
			}
		}
	}
	sound := func(p piece) bool { return !bad[position{p.entry, p.file}] }
	based := sync.OnceValue(a.basedOn)
	var damage []Damage
	for _, v := range visits {
		for _, f := range v.findings {
			read, gone := 0, 0 // of the entries whose content is read
			for _, e := range f.entries {
				switch {
				case e.Path != "" && e.Path != planPath:
					if !f.volume {
						gone++
					}
					continue
				case !a.available(v.member.set, e, sound):
					gone++
					f.Lost = append(f.Lost, a.lostContent(e)...)
				}
				read++
			}
			f.Recoverable = read > 0 && gone == 0
			slices.Sort(f.Lost)
			f.Lost = slices.Compact(f.Lost)
			if len(f.Lost) > 0 {
				f.Dependents = a.dependents(f.Lost, based(), sound)
			}
			damage = append(damage, f.Damage)
		}
	}
	return damage
}

// basedOn returns the blobs that are carried as deltas of other blobs, by these.
func (a *Archive) basedOn() map[digest.Digest][]ocispec.Descriptor {
	all := map[digest.Digest][]ocispec.Descriptor{}
	for _, at := range a.deltas {
		for _, b := range at.Bases {
			all[b.Digest] = append(all[b.Digest], at.Descriptor())
		}
	}
	return all
}

// dependents returns the blobs that cannot be made without lost ones, sorted.
func (a *Archive) dependents(lost []digest.Digest, based map[digest.Digest][]ocispec.Descriptor, sound func(piece) bool) []digest.Digest {
	all := slices.Clone(lost)
	known := map[digest.Digest]bool{}
	for _, d := range lost {
		known[d] = true
	}
	for i := 0; i < len(all); i++ {
		for _, blob := range based[all[i]] {
			whole := locations(a.blobs, blob.Digest)
			if !known[blob.Digest] && (len(whole) == 0 || !covers(a.pieces(whole, sound), blob.Size)) {
				known[blob.Digest] = true
				all = append(all, blob.Digest)
			}
		}
	}
	all = all[len(lost):]
	slices.Sort(all)
	return all
}

// Lost returns the manifests and blobs that cannot be read, each once, sorted, without dependents.
func (e *DamageError) Lost() []digest.Digest {
	var lost []digest.Digest
	for _, d := range e.Damage {
		lost = append(lost, d.Lost...)
	}
	slices.Sort(lost)
	return slices.Compact(lost)
}

// Recoverable reports whether intact copies of everything damaged exist.
func (e *DamageError) Recoverable() bool {
	return !slices.ContainsFunc(e.Damage, func(d Damage) bool { return !d.Recoverable })
}
