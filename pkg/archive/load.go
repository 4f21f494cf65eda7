package archive

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A manifestCopy is a set manifest in a folder.
type manifestCopy struct {
	dir    int
	set    *set
	digest digest.Digest
	decryption
	recovery *recovery // nil if the folder has the set manifest
}

// addRoot opens a folder. A folder that is named twice is opened once.
func (a *Archive) addRoot(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return &notFoundError{fmt.Sprintf("opening the archive %s: it is a file", dir), "name the folder that it lies in"}
	}
	for _, have := range a.folders {
		if other, statErr := have.Stat("."); err == nil && statErr == nil && os.SameFile(info, other) {
			return nil
		}
	}
	root, err := openFolder(dir)
	if err != nil {
		return fmt.Errorf("opening the archive in %s: %w", dir, err)
	}
	a.dirs, a.folders = append(a.dirs, dir), append(a.folders, root)
	return nil
}

// addFolder looks for what is missing in one more folder, or again in one of the folders.
func (a *Archive) addFolder(dir string) error {
	if err := a.addRoot(dir); err != nil {
		return err
	}
	a.labelled = nil
	for i, root := range a.folders {
		a.labelled = append(a.labelled, findLabelled(root, i))
	}
	for _, m := range a.members {
		for i := range m.volumes {
			if f := &m.volumes[i]; f.problem != "" {
				_ = (&member{volumes: []foundVolume{*f}}).close() // only read from
				*f = foundVolume{problem: problemMissing}
			}
		}
		a.findVolumes(m)
	}
	return nil
}

// load finds the set with this sequence, 0 for the newest, and everything that belongs to it.
func (a *Archive) load(sequence int) error {
	var lists []*listing
	newest := 0
	for i, root := range a.folders {
		l, err := listWithVolumes(root, i)
		if err != nil {
			return fmt.Errorf("opening the archive in %s: %w", a.dirs[i], err)
		}
		lists, a.labelled = append(lists, l), append(a.labelled, l.labelled)
		if l.partial {
			a.labelled[i] = findLabelled(root, i) // of sets that are complete
		}
		if n, ok := l.newest(); ok {
			newest = max(newest, n)
		}
	}
	for _, n := range unlisted(lists, a.seriesOf(lists, newest)) {
		newest = max(newest, n)
	}
	sequence = cmp.Or(sequence, newest)
	if sequence == 0 {
		return fmt.Errorf("opening the archive in %s: %w", a.dirNames(), whyNotFound(lists))
	}
	first, err := a.readCopies(lists, sequence)
	if errors.Is(err, errNoSet) {
		return &notFoundError{fmt.Sprintf("opening the archive in %s: it has no %s", a.dirNames(), setName(sequence)), "the newest is " + setName(newest)}
	}
	if err != nil {
		return err
	}
	a.set = first.set
	if a.signature, err = a.signatureOf(first); err != nil {
		return err
	}
	if err := a.checkSeries(lists, first); err != nil {
		return err
	}
	sets, err := a.collectSets(lists, first)
	if err != nil {
		return err
	}
	for _, c := range sets {
		m := &member{set: c.set, outer: c.outer, key: c.key, digest: c.digest, name: c.set.id().manifest(), dir: c.dir, recovery: c.recovery}
		a.members = append(a.members, m)
		a.findVolumes(m)
	}
	a.indexEntries()
	return nil
}

// collectSets returns a set and all sets that it builds on, newest first, each after its repairs.
func (a *Archive) collectSets(lists []*listing, first manifestCopy) ([]manifestCopy, error) {
	sets := []manifestCopy{first}
	known := map[state.SetRef]bool{{Sequence: first.set.Sequence, Set: first.digest}: true}
	n := first.set.entries()
	for i := 0; i < len(sets); i++ {
		for _, b := range sets[i].set.BuildsOn {
			if known[b] {
				continue
			}
			known[b] = true
			c, err := a.readCopies(lists, b.Sequence)
			switch {
			case errors.Is(err, errNoSet):
				a.absent = append(a.absent, missingSet{SetRef: b})
			case errors.As(err, new(*MixedSetsError)):
				return nil, err
			case err != nil:
				// The site may already have its content. Reading content that is missing returns
				// the error.
				a.absent = append(a.absent, missingSet{b, err})
				a.log.Warn("a set that the newest builds on cannot be read", "sequence", b.Sequence, "error", err)
				if damage, ok := errors.AsType[*DamageError](err); ok {
					a.manifestDamage = append(a.manifestDamage, damage.Damage...)
				}
			case c.digest != b.Set && !c.fromHeaders():
				return nil, mixedSets("opening the archive in %s: %s in %s is another set (%s) than the one that %s builds on (%s): they are of different series",
					a.dirNames(), setName(b.Sequence), a.dirs[c.dir], c.digest, setName(sets[i].set.Sequence), b.Set)
			case c.set.Name != first.set.Name && !c.needsIdentity() && !first.needsIdentity():
				return nil, mixedSets("opening the archive in %s: %s in %s is of %q and builds on %s, which is of %q", a.dirNames(), first.set.id().manifest(), a.dirs[first.dir], first.set.Name, setName(b.Sequence), c.set.Name)
			default:
				if n += c.set.entries(); n > a.entryLimit {
					return nil, fmt.Errorf("opening the archive in %s: %s and the sets that it builds on have more than %d entries together: name the folders of fewer, or write it again with all content",
						a.dirNames(), setName(first.set.Sequence), a.entryLimit)
				}
				if c.outer.Encryption == nil && first.outer.Encryption != nil {
					a.log.Warn("the newest set is encrypted, and one that it builds on is not", "sequence", b.Sequence)
				}
				sets = append(sets, c)
			}
		}
	}
	elements.Sort(sets, func(x, y manifestCopy) int { return cmp.Compare(y.set.Sequence, x.set.Sequence) })
	elements.Sort(a.absent, func(x, y missingSet) int { return cmp.Compare(y.Sequence, x.Sequence) })
	var all []manifestCopy
	for _, c := range sets {
		all = append(append(all, a.repairs(lists, c)...), c)
	}
	return all, nil
}

// readCopies reads the set manifest of a sequence from the folders that have it. A damaged copy is
// skipped if another is intact.
func (a *Archive) readCopies(lists []*listing, sequence int) (found manifestCopy, err error) {
	var bad []error
	for i, root := range a.folders {
		if _, ok := slices.BinarySearch(lists[i].sets, sequence); !ok {
			continue
		}
		s, d, readErr := readSet(root, sequence)
		c := manifestCopy{dir: i, set: s, digest: d}
		if readErr == nil {
			readErr = a.decryptSet(&c)
		}
		switch {
		case readErr != nil:
			bad = append(bad, readErr)
		case found.set == nil:
			found, err = c, nil
		case found.digest != d:
			return found, mixedSets("opening the archive in %s: two different sets are called %s: that in %s (%s) and that in %s (%s)",
				a.dirNames(), setName(sequence), a.dirs[found.dir], found.digest, a.dirs[i], d)
		}
	}
	switch {
	case found.set != nil:
	case len(bad) == 0:
		if found, err = a.recoverSet(lists, setID{sequence: sequence}); err == nil {
			err = a.decryptSet(&found)
		}
	default:
		why := errors.Join(bad...)
		if found, err = a.copyInstead(lists, setID{sequence: sequence}, why); err == nil && a.decryptSet(&found) != nil {
			err = why
		}
		if err != nil {
			return manifestCopy{}, err
		}
	}
	a.addPassed(bad, found)
	return found, err
}

// addPassed records damaged set manifests in whose place another copy is used.
func (a *Archive) addPassed(bad []error, used manifestCopy) {
	for _, passed := range bad {
		a.log.Warn("a set manifest is damaged; using another copy", "used", a.dirs[used.dir], "error", passed)
		if damage, ok := errors.AsType[*DamageError](passed); ok {
			for _, d := range damage.Damage {
				d.Recoverable = true
				a.manifestDamage = append(a.manifestDamage, d)
			}
		}
	}
}

// copyInstead returns the copy in a volume of a set manifest that is damaged in the folders, or was copied without what
// belongs to it. The error is why, if there is no such copy, or if reading it cannot help.
func (a *Archive) copyInstead(lists []*listing, id setID, why error) (manifestCopy, error) {
	if !errors.As(why, new(*DamageError)) {
		return manifestCopy{}, why
	}
	volumes := a.volumesOf(lists, id)
	if ofAnotherSet(volumes) != nil {
		return manifestCopy{}, why
	}
	found, _ := a.findCopies(volumes)
	if found.set == nil {
		return manifestCopy{}, why
	}
	return found, nil
}

// repairs returns the repair sets of a set, at most one from each folder. A repair with a problem
// is logged and skipped.
func (a *Archive) repairs(lists []*listing, of manifestCopy) []manifestCopy {
	repair := setID{of.set.Sequence, true}
	var found []manifestCopy
	add := func(c manifestCopy, err error) {
		if err == nil {
			err = a.acceptRepair(&c, of)
		}
		switch {
		case err != nil:
			a.log.Warn("skipping a repair", "file", repair.manifest(), "dir", a.dirs[c.dir], "error", err)
			if damage, ok := errors.AsType[*DamageError](err); ok {
				a.manifestDamage = append(a.manifestDamage, damage.Damage...)
			}
		case !slices.ContainsFunc(found, func(have manifestCopy) bool { return have.digest == c.digest }):
			found = append(found, c)
		}
	}
	var bad []error
	var badIn []int
	for i, root := range a.folders {
		if !slices.Contains(lists[i].repairs, of.set.Sequence) {
			continue
		}
		s, d, err := readManifest(root, repair)
		if err != nil {
			bad, badIn = append(bad, err), append(badIn, i)
			continue
		}
		add(manifestCopy{dir: i, set: s, digest: d}, nil)
	}
	switch {
	case len(found) > 0:
	case len(bad) > 0:
		if c, err := a.copyInstead(lists, repair, errors.Join(bad...)); err == nil {
			a.addPassed(bad, c)
			bad = nil
			add(c, nil)
		}
	default:
		if c, err := a.recoverSet(lists, repair); !errors.Is(err, errNoSet) {
			add(c, err)
		}
	}
	for i, err := range bad {
		add(manifestCopy{dir: badIn[i]}, err)
	}
	return found
}

// acceptRepair returns why a repair is not one of a set. It opens the repair.
func (a *Archive) acceptRepair(c *manifestCopy, of manifestCopy) error {
	if err := a.decryptSet(c); err != nil {
		return err
	}
	s := c.set
	switch {
	case s.Repairs == nil || *s.Repairs != state.SetRef{Sequence: of.set.Sequence, Set: of.digest}:
		return fmt.Errorf("it repairs another set than %s in %s", setName(of.set.Sequence), a.dirs[of.dir])
	case s.unknownContent(of.set) != "":
		return fmt.Errorf("it has %s, which %s in %s does not have so", s.unknownContent(of.set), setName(of.set.Sequence), a.dirs[of.dir])
	}
	_, err := a.signatureOf(*c)
	return err
}

// unknownContent returns content of a repair that the repaired set does not have with the same size
// and media type, or "". So a repair brings nothing but bytes whose digests, lengths and media
// types are in the set, and the set's signature covers them.
func (s *set) unknownContent(of *set) digest.Digest {
	todo := map[digest.Digest]*entry{}
	for _, e := range s.all() {
		if e.Path == "" {
			todo[e.Digest] = e
		}
	}
	for _, e := range of.all() {
		if r := todo[e.Digest]; r != nil && e.Path == "" && r.MediaType == e.MediaType && r.length() == e.length() {
			delete(todo, e.Digest)
		}
	}
	for i := range of.Deltas { // a repair has the blob itself
		if r := todo[of.Deltas[i].Digest]; r != nil && r.MediaType == "" && r.length() == of.Deltas[i].Size {
			delete(todo, of.Deltas[i].Digest)
		}
	}
	foreign := slices.Sorted(maps.Keys(todo))
	if len(foreign) == 0 {
		return ""
	}
	return foreign[0]
}

// checkSeries refuses folders with sets of another series than the chosen one.
func (a *Archive) checkSeries(lists []*listing, chosen manifestCopy) error {
	for i, root := range a.folders {
		for _, sequence := range lists[i].sets {
			name, ok := readSeriesName(root, setName(sequence))
			if ok && chosen.outer.Encryption == nil && name != chosen.set.Name {
				e := mixedSets("opening the archive in %s: there are two series: %s in %s is of %q and %s in %s is of %q",
					a.dirNames(), setName(chosen.set.Sequence), a.dirs[chosen.dir], chosen.set.Name, setName(sequence), a.dirs[i], name)
				e.hint += ", or keep each in a folder of its own"
				return e
			}
		}
	}
	return nil
}
