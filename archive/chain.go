package archive

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/regular"
)

// Inspect is Open for an archive that may be damaged: volumes may be missing or
// be something else, which Verify tells and reading what lies in them meets. The
// set manifest has to be whole.
func Inspect(dirs ...string) (*Archive, error) { return InspectWith(OpenOptions{}, dirs...) }

// InspectWith is Inspect with options. Nobody is asked.
func InspectWith(opts OpenOptions, dirs ...string) (*Archive, error) {
	a := &Archive{most: maxEntries, log: cmp.Or(opts.Log, slog.New(slog.DiscardHandler)), chosen: map[digest.Digest][]piece{}}
	if len(dirs) == 0 {
		return nil, &absentError{what: "opening an archive: no folder is named", hint: "name the folder that it lies in"}
	}
	for _, dir := range dirs {
		if err := a.addRoot(dir); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	a.policy, a.identities = opts.Signatures, opts.Identities
	if err := a.load(opts.Sequence); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// addRoot opens a folder. One that is named twice is one.
func (a *Archive) addRoot(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return &absentError{fmt.Sprintf("opening the archive %s: it is a file", dir), "name the folder that it lies in"}
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

// addFolder looks for what is missing in one more folder, or once more in one
// that was looked into.
func (a *Archive) addFolder(dir string) error {
	if err := a.addRoot(dir); err != nil {
		return err
	}
	for _, m := range a.members {
		for i := range m.media {
			if f := &m.media[i]; f.problem != "" {
				_ = (&member{media: []medium{*f}}).close() // only read from
				*f = medium{problem: missing}
			}
		}
		a.find(m, 0)
	}
	return nil
}

// A manifestCopy is a set manifest in a folder.
type manifestCopy struct {
	dir    int
	set    *set
	digest digest.Digest
	unsealed
}

// load finds the set that is wanted, 0 for the newest, and all that belongs to it.
func (a *Archive) load(sequence int) error {
	var lists []*listing
	newest := 0
	for i, root := range a.folders {
		l, err := list(root)
		if err != nil {
			return fmt.Errorf("opening the archive in %s: %w", a.dirs[i], err)
		}
		lists = append(lists, l)
		if n, ok := l.newest(); ok {
			newest = max(newest, n)
		}
	}
	if sequence == 0 {
		sequence = newest
	}
	if sequence == 0 {
		return fmt.Errorf("opening the archive in %s: %w", a.dir(), absent(lists))
	}
	first, err := a.read(lists, sequence)
	if errors.Is(err, fs.ErrNotExist) {
		return &absentError{fmt.Sprintf("opening the archive in %s: it has no %s", a.dir(), setName(sequence)), "the newest is " + setName(newest)}
	}
	if err != nil {
		return err
	}
	a.set = first.set
	if a.signature, err = a.signatureOf(first); err != nil {
		return err
	}
	if err := a.oneSeries(lists, first); err != nil {
		return err
	}
	sets, err := a.chain(lists, first)
	if err != nil {
		return err
	}
	for _, c := range sets {
		m := &member{set: c.set, outer: c.outer, key: c.key, digest: c.digest, name: c.set.id().manifest(), dir: c.dir}
		a.members = append(a.members, m)
		a.find(m, 0)
	}
	a.index()
	return nil
}

// chain is a set with all that it builds on, newest first, and before each what
// repairs it.
func (a *Archive) chain(lists []*listing, first manifestCopy) ([]manifestCopy, error) {
	sets := []manifestCopy{first}
	known := map[base]bool{{first.set.Sequence, first.digest}: true}
	n := first.set.entries()
	for i := 0; i < len(sets); i++ {
		for _, b := range sets[i].set.BuildsOn {
			if known[b] {
				continue
			}
			known[b] = true
			c, err := a.read(lists, b.Sequence)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				a.absent = append(a.absent, absence{base: b})
			case errors.As(err, new(*MixedError)):
				return nil, err
			case err != nil:
				// The site may have its content already. Whoever needs it is told.
				a.absent = append(a.absent, absence{b, err})
				a.log.Warn("a set that the newest builds on cannot be read", "sequence", b.Sequence, "error", err)
				var damage *DamageError
				if errors.As(err, &damage) {
					a.spoilt = append(a.spoilt, damage.Damage...)
				}
			case c.digest != b.Set:
				return nil, mixed("opening the archive in %s: %s in %s is another set (%s) than the one that %s builds on (%s): they are of different series",
					a.dir(), setName(b.Sequence), a.dirs[c.dir], c.digest, setName(sets[i].set.Sequence), b.Set)
			case c.set.Name != first.set.Name && !c.locked() && !first.locked():
				return nil, mixed("opening the archive in %s: %s in %s is of %q and builds on %s, which is of %q", a.dir(), first.set.id().manifest(), a.dirs[first.dir], first.set.Name, setName(b.Sequence), c.set.Name)
			default:
				if n += c.set.entries(); n > a.most {
					return nil, fmt.Errorf("opening the archive in %s: %s and the sets that it builds on have more than %d entries together: name the folders of fewer, or write it again with all content",
						a.dir(), setName(first.set.Sequence), a.most)
				}
				if c.outer.Encryption == nil && first.outer.Encryption != nil {
					a.log.Warn("the newest set is encrypted, and one that it builds on is not", "sequence", b.Sequence)
				}
				sets = append(sets, c)
			}
		}
	}
	slices.SortStableFunc(sets, func(x, y manifestCopy) int { return cmp.Compare(y.set.Sequence, x.set.Sequence) })
	slices.SortFunc(a.absent, func(x, y absence) int { return cmp.Compare(y.Sequence, x.Sequence) })
	var all []manifestCopy
	for _, c := range sets {
		all = append(append(all, a.repairs(lists, c)...), c)
	}
	return all, nil
}

// A MixedError says that folders have sets of two archives, which one that is opened
// cannot be both of.
type MixedError struct {
	what string
	hint string
}

func (e *MixedError) Error() string { return e.what + "; " + e.hint }

// Hint says what to do.
func (e *MixedError) Hint() string { return e.hint }

// mixed makes a MixedError of folders that the user named.
func mixed(format string, args ...any) *MixedError {
	return &MixedError{what: fmt.Sprintf(format, args...), hint: "name the folders of one"}
}

// read reads the set manifest of a sequence from the folders that have it. One
// that is damaged is passed over where another is sound.
func (a *Archive) read(lists []*listing, sequence int) (found manifestCopy, err error) {
	err = fs.ErrNotExist
	var bad []error
	for i, root := range a.folders {
		if _, ok := slices.BinarySearch(lists[i].sets, sequence); !ok {
			continue
		}
		s, d, readErr := readSet(root, sequence)
		c := manifestCopy{dir: i, set: s, digest: d}
		if readErr == nil {
			readErr = a.unseal(&c)
		}
		switch {
		case readErr != nil:
			bad = append(bad, readErr)
		case found.set == nil:
			found, err = c, nil
		case found.digest != d:
			return found, mixed("opening the archive in %s: two different sets are called %s: that in %s (%s) and that in %s (%s)",
				a.dir(), setName(sequence), a.dirs[found.dir], found.digest, a.dirs[i], d)
		}
	}
	if found.set == nil && len(bad) > 0 {
		return found, errors.Join(bad...)
	}
	for _, passed := range bad {
		a.log.Warn("a set manifest is damaged, another copy of it is used", "used", a.dirs[found.dir], "error", passed)
		var damage *DamageError
		if errors.As(passed, &damage) {
			for _, d := range damage.Damage {
				d.Healed = true
				a.spoilt = append(a.spoilt, d)
			}
		}
	}
	return found, err
}

// repairs are the repair sets of a set, one from each folder at most. What is
// wrong with one is told, and the set is read without it.
func (a *Archive) repairs(lists []*listing, of manifestCopy) []manifestCopy {
	repair := setID{of.set.Sequence, true}
	var found []manifestCopy
	for i, root := range a.folders {
		if !slices.Contains(lists[i].repairs, of.set.Sequence) {
			continue
		}
		s, d, err := readManifest(root, repair)
		c := manifestCopy{dir: i, set: s, digest: d}
		if err == nil {
			err = a.unseal(&c)
			s = c.set
		}
		switch {
		case err == nil && (s.Repairs == nil || *s.Repairs != base{of.set.Sequence, of.digest}):
			err = fmt.Errorf("it repairs another set than %s in %s", setName(of.set.Sequence), a.dirs[of.dir])
		case err == nil && s.foreign(of.set) != "":
			err = fmt.Errorf("it has %s, which %s in %s does not have so", s.foreign(of.set), setName(of.set.Sequence), a.dirs[of.dir])
		case err == nil && slices.ContainsFunc(found, func(c manifestCopy) bool { return c.digest == d }):
			continue
		case err == nil:
			_, err = a.signatureOf(c)
		}
		if err != nil {
			a.log.Warn("a repair is passed over", "file", repair.manifest(), "dir", a.dirs[i], "error", err)
			var damage *DamageError
			if errors.As(err, &damage) {
				a.spoilt = append(a.spoilt, damage.Damage...)
			}
			continue
		}
		found = append(found, c)
	}
	return found
}

// foreign is content of a repair that the set which it repairs has not, or not as
// that; "" where there is none. So a repair brings nothing but bytes whose digests,
// lengths and media types the set says, and what signs the set covers it.
func (s *set) foreign(of *set) digest.Digest {
	todo := map[digest.Digest]*entry{}
	for i := range s.Volumes {
		for j := range s.Volumes[i].Entries {
			if e := &s.Volumes[i].Entries[j]; e.Path == "" {
				todo[e.Digest] = e
			}
		}
	}
	for i := range of.Volumes {
		for j := range of.Volumes[i].Entries {
			e := &of.Volumes[i].Entries[j]
			if r := todo[e.Digest]; r != nil && e.Path == "" && r.MediaType == e.MediaType && r.length() == e.length() {
				delete(todo, e.Digest)
			}
		}
	}
	foreign := slices.Sorted(maps.Keys(todo))
	if len(foreign) == 0 {
		return ""
	}
	return foreign[0]
}

// oneSeries refuses folders that have sets of another series than the chosen one.
func (a *Archive) oneSeries(lists []*listing, chosen manifestCopy) error {
	for i, root := range a.folders {
		for _, sequence := range lists[i].sets {
			name, ok := series(root, setName(sequence))
			if ok && chosen.outer.Encryption == nil && name != chosen.set.Name {
				e := mixed("opening the archive in %s: there are two series: %s in %s is of %q and %s in %s is of %q",
					a.dir(), setName(chosen.set.Sequence), a.dirs[chosen.dir], chosen.set.Name, setName(sequence), a.dirs[i], name)
				e.hint += ", or keep each in a folder of its own"
				return e
			}
		}
	}
	return nil
}

// series is the name in a set manifest, which stands before what grows with the
// content. ok is false where it cannot be read.
func series(root *os.Root, manifest string) (name string, ok bool) {
	f, _, err := regular.Open(root, manifest)
	if err != nil {
		return "", false
	}
	defer f.Close() // only read from
	dec := json.NewDecoder(io.LimitReader(f, 64<<10))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "", false
	}
	for dec.More() {
		field, err := dec.Token()
		if err != nil || field == "volumes" {
			break
		}
		switch field {
		case "name":
			err := dec.Decode(&name)
			return name, err == nil
		case "features":
			var features []string
			if dec.Decode(&features) != nil || slices.Contains(features, featureEncrypted) {
				return "", false // it has a name that is not told
			}
			continue
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			break
		}
	}
	return "", false
}

// absent says why folders without a set manifest are no archive.
func absent(lists []*listing) error {
	high, repair := 0, 0
	for _, l := range lists {
		if l.partial {
			return &absentError{"writing it was not finished", "run that again"}
		}
		high = max(high, l.highest())
		for _, sequence := range l.repairs {
			repair = max(repair, sequence)
		}
	}
	switch {
	case repair > 0:
		return &absentError{setID{repair, true}.manifest() + " repairs a set that is not there", "bring " + setName(repair) + " and its volumes too"}
	case high > 0:
		return &absentError{"it has volumes and no set manifest", "bring " + setName(high) + " too"}
	}
	return &absentError{"there is none, since there is no set manifest such as " + setName(1), "name the folder that has it"}
}

// openFolder opens a folder of an archive.
func openFolder(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &absentError{err.Error(), "check the path, and that the medium is mounted"}
	}
	return root, err
}

// An absentError says why there is no archive, and is fs.ErrNotExist.
type absentError struct{ what, hint string }

func (e *absentError) Error() string { return e.what + "; " + e.hint }
func (*absentError) Unwrap() error   { return fs.ErrNotExist }

// Hint says what to do.
func (e *absentError) Hint() string { return e.hint }
